/** A program that keeps a copy of a mirror. */
export interface Follower {
  readonly name: string;
  /** It has said that it cannot follow the mirror now. */
  readonly waits: boolean;
  /** Its messages of errors since its start. */
  readonly problems: string;
  start(): void;
  kill(): Promise<void>;
  /** How often it has replaced the whole copy. */
  starts(): number;
  /** The rows as a program would read them. */
  sellable(): Shown[] | Promise<Shown[]>;
  seq(): number | Promise<number>;
  /** Moves the stored position to a number that the mirror has not issued. The program is not running. */
  moveAhead(): unknown;
  /** Makes the latest confirmation of the mirror two minutes old; null: it confirms in memory. */
  age: (() => unknown) | null;
}

/** Where the mirror is found. */
export interface Place {
  readonly url: string;
  readonly path: string;
}

export const SELLABLE = 'variant_id, warehouse_id, sku, product_name, available_qty, trusted, why_not';

export interface Shown {
  readonly variant_id: string;
  readonly warehouse_id: string | null;
  readonly sku: string | null;
  readonly product_name: string | null;
  readonly available_qty: number | string;
  readonly trusted: number | boolean;
  readonly why_not: string | null;
}

/** Comparable lines. PostgreSQL has no U+0000, and no numbers of 0 and 1 for booleans. */
export function linesOf(rows: readonly Shown[]): string[] {
  return rows
    .map((row) =>
      [
        row.variant_id,
        row.warehouse_id ?? 'total',
        withoutNul(JSON.stringify([row.sku, row.product_name])),
        row.available_qty,
        Number(row.trusted) === 1 ? 'trusted' : row.why_not,
      ].join(' '),
    )
    .sort();
}

/** @param json a JSON text. */
export function withoutNul(json: string): string {
  return json.replaceAll('\\u0000', '');
}
