/** What decides which products are read, beside what the rules ask for. */

/** What is known of each product: to any mirror, from its deliveries and answers. */
export interface Known {
  /** When its last change arrived, and when its last merged read was sent; 0: never. */
  readonly changedAtMs: Float64Array;
  readonly readAtMs: Float64Array;
}

export interface ProvenLoss {
  readonly product: number;
  /** It came after this instant, when its level was certain. */
  readonly sinceMs: number;
  /** What proved it arrived then: a change that does not follow, or the read itself. */
  readonly openedAtMs: number;
  readonly by: 'gap' | 'read';
}

export interface Policy {
  readonly name: string;
  /** A change has been applied. @param sinceMs when the level was last certain before. */
  changed(product: number, atMs: number): void;
  /** An answer has been applied. */
  wasRead(product: number, sentAtMs: number, atMs: number): void;
  /** A change that was lost is known to be. */
  proved(loss: ProvenLoss, atMs: number): void;
  /** What only an oracle knows. */
  lost?(product: number, atMs: number): void;
  /** What to read in this second. @param ruled so many reads are asked for by rules, in it. */
  take(nowMs: number, free: number, ruled: number): number[];
  /** Processor time spent on choosing, and how many choices that were. */
  readonly spent?: { readonly ms: number; readonly reads: number };
}
