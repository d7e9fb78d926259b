/** What the bench needs of a mirror: to apply what comes, and to say what its rules want read. */

export interface Change {
  readonly product: number;
  /** The figure before and after. Each figure of a product is another, so that none is right by chance. */
  readonly old: number;
  readonly new: number;
  readonly atMs: number;
}

export interface Answer {
  readonly product: number;
  readonly qty: number;
  /** The last entry applied when it was asked for. */
  readonly s0: number;
  readonly sentAtMs: number;
  readonly atMs: number;
}

/** A loss is proven: by a change that arrived at `openedAtMs`, or by the read itself. */
export interface Proof {
  readonly product: number;
  readonly openedAtMs: number;
  readonly by: 'gap' | 'read';
}

export interface Mirror {
  /** Entries applied. */
  readonly seq: number;
  qty(product: number): number;
  deliver(changes: readonly Change[], atMs: number): readonly Proof[];
  answer(answer: Answer): readonly Proof[];
  /** What rules want read now, the most urgent first. */
  due(nowMs: number): readonly number[];
}
