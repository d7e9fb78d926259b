export type WarehouseNames = ReadonlyMap<string, string>;

export function warehouseText(id: string, name: string | null | undefined): string {
  return `warehouse ${id}${name === undefined || name === null ? '' : `, ${name}`}`;
}
