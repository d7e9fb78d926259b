/** Deliveries answered 503, which the store does not repeat (docs/architecture.md#when-nothing-can-be-committed). */
import { createLimitedLog, type Logger } from '../platform/log.ts';
import { parseDelivery } from '../store-api/delivery.ts';
import type { NewInput } from '../mirror/writer/applier.ts';

type ReasonToRead = NewInput & { readonly kind: 'missed' };

interface UnstoredDeps {
  readonly writer: { append(input: ReasonToRead): Promise<unknown> };
  readonly now: () => number;
  readonly log: Logger;
}

const RETRY_MS = 500;
/** With more variants than this, the whole mirror becomes suspect instead. */
const MAX_VARIANTS = 10_000;
/** Unauthenticated clients can cause rejections and must not trigger reads at will. */
const ACTIVE_EVERY_MS = 15 * 60_000;

export class UnstoredDeliveries {
  readonly #deps: UnstoredDeps;
  readonly #report: ReturnType<typeof createLimitedLog>;
  readonly #timer: NodeJS.Timeout;
  #variantIds = new Set<string>();
  /** A delivery named no readable variant. */
  #isEverything = false;
  #turnedAway = 0;
  #activeAtMs = Number.NEGATIVE_INFINITY;
  #flushing: Promise<void> | null = null;
  noted = 0;

  constructor(deps: UnstoredDeps) {
    this.#deps = deps;
    this.#report = createLimitedLog((fields) =>
      deps.log.error(
        fields,
        'deliveries could not be committed and were answered 503: their products are read once commits succeed again',
      ),
    );
    this.#timer = setInterval(() => void this.#flush(), RETRY_MS);
    this.#timer.unref();
  }

  /** Variants whose read request is not recorded yet. */
  get size(): number {
    return this.#variantIds.size + (this.#isEverything ? 1 : 0);
  }

  note(body: Uint8Array, cause: Error): void {
    this.noted += 1;
    const { requestId, changes, unreadable } = parseDelivery(body);
    for (const { variantId } of [...changes, ...unreadable]) {
      if (variantId === null) this.#isEverything = true;
      else this.#variantIds.add(variantId);
    }
    if (this.#variantIds.size > MAX_VARIANTS) this.#isEverything = true;
    if (this.#isEverything) this.#variantIds.clear();
    this.#report('noted', { err: cause, requestId });
  }

  /** A request was turned away unread. It may have been a delivery, about anything. */
  noteTurnedAway(): void {
    this.#turnedAway += 1;
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#flushing;
    this.#activeAtMs = Number.NEGATIVE_INFINITY;
    await this.#flush();
  }

  #flush(): Promise<void> {
    // On failure all is kept for the next tick. The trouble was logged when the deliveries were noted.
    return (this.#flushing ??= this.#record()
      .catch(() => undefined)
      .finally(() => (this.#flushing = null)));
  }

  async #record(): Promise<void> {
    const { writer, now, log } = this.#deps;
    const atMs = now();
    if (this.size > 0) {
      const variantIds = this.#variantIds;
      const isEverything = this.#isEverything;
      this.#variantIds = new Set();
      this.#isEverything = false;
      try {
        await writer.append({
          kind: 'missed',
          atMs,
          why: 'not_stored',
          sinceMs: null,
          untilMs: atMs,
          variantIds: isEverything ? null : [...variantIds],
        });
      } catch (error) {
        for (const id of variantIds) this.#variantIds.add(id);
        this.#isEverything ||= isEverything;
        throw error;
      }
      log.warn(
        { variants: variantIds.size, everything: isEverything },
        'commits succeed again: the products of the refused deliveries are read',
      );
    }
    if (this.#turnedAway === 0 || atMs - this.#activeAtMs < ACTIVE_EVERY_MS) return;
    const requests = this.#turnedAway;
    await writer.append({
      kind: 'missed',
      atMs,
      why: 'turned_away',
      sinceMs: null,
      untilMs: atMs,
      variantIds: null,
    });
    this.#turnedAway -= requests;
    this.#activeAtMs = atMs;
    log.warn(
      { requests },
      'requests were turned away for lack of room: the products with the oldest evidence are read at once',
    );
  }
}
