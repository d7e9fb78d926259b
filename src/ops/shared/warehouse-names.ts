/** What the operator calls warehouses, by id (`WAREHOUSE_NAMES`). */
export type WarehouseNames = ReadonlyMap<string, string>;

/** `warehouse 11, Bangkok`, for running text. */
export function warehouseText(id: string, name: string | null | undefined): string {
  return `warehouse ${id}${name === undefined || name === null ? '' : `, ${name}`}`;
}
