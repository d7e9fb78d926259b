/** A row as it comes from another machine's event log, or from what several machines append to. */

/** What a product's detail is known by. */
export interface EncodedDetail {
  readonly productId: string;
  readonly hash: Uint8Array<ArrayBuffer>;
  /** The payload to take instead when the last detail logged for the product has this hash. */
  readonly payloadWithout: Uint8Array<ArrayBuffer>;
}

export interface CopiedRow {
  /** Its position, where it comes from an event log; null: the next one. */
  readonly seq: number | null;
  readonly kind: string;
  readonly atMs: number;
  /** A delivery's raw bytes; of others JSON. */
  readonly payload: Uint8Array<ArrayBuffer>;
  /** As in `EncodedEntry`; null in a row that comes from an event log, where this is decided. */
  readonly detail: EncodedDetail | null;
}
