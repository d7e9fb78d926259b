/**
 * Authentic deliveries that the store could not take (docs/architecture.md#when-nothing-can-be-committed).
 * Their variants are kept in memory and put on record as obligations as soon as the store commits again. The
 * service will not send them a second time.
 */
import type { Logger } from '../log.ts';
import { parseDelivery } from '../service/delivery.ts';
import type { StoreWriter } from '../store/store.ts';

export interface UnstoredDeps {
  readonly writer: StoreWriter;
  readonly now: () => number;
  readonly log: Logger;
}

export interface UnstoredDeliveries {
  /** @param cause why the store did not take it. */
  note(body: Uint8Array, cause: Error): void;
  /** Variants that wait to be put on record. */
  readonly size: number;
  /** Deliveries noted since the start. */
  readonly noted: number;
  /** Makes a last attempt to put them on record. */
  stop(): Promise<void>;
}

const RETRY_MS = 500;
/** Beyond this many variants the whole mirror is in doubt. */
const MAX_VARIANTS = 100_000;
/** Variants put on record at once: deliveries wait for it. */
const AT_ONCE = 1_000;
/** The store's trouble is told once in a while, not once a delivery. */
const NEWS_EVERY_MS = 10_000;

export function keepUnstored({ writer, now, log }: UnstoredDeps): UnstoredDeliveries {
  const variantIds = new Set<string>();
  let everything = false;
  let noted = 0;
  let nextNewsAtMs = Number.NEGATIVE_INFINITY;
  let flushing: Promise<void> | null = null;

  const size = (): number => variantIds.size + (everything ? 1 : 0);
  const flushEverything = async (): Promise<void> => {
    // What is noted from here on is a new doubt, which this one may be too early for.
    everything = false;
    try {
      // What cannot be told apart any more is what a silence leaves: every product must be read.
      await writer.append({ kind: 'downtime', atMs: now(), downSinceMs: null });
    } catch (error) {
      everything = true;
      throw error;
    }
  };
  const flushSome = async (): Promise<void> => {
    const sent = [...variantIds].slice(0, AT_ONCE);
    for (const id of sent) variantIds.delete(id);
    try {
      await writer.append({
        kind: 'oblige',
        atMs: now(),
        reason: 'not_stored',
        productIds: [],
        variantIds: sent,
      });
    } catch (error) {
      for (const id of sent) variantIds.add(id);
      throw error;
    }
  };
  const flush = async (): Promise<void> => {
    const found = { variants: variantIds.size, everything };
    try {
      if (everything) await flushEverything();
      while (variantIds.size > 0) await flushSome();
      log.warn(found, 'the store commits again: what it missed is read');
    } catch {
      // Still kept; the next tick tries again. The store's trouble was told when the deliveries were noted.
    }
  };
  const begin = (): Promise<void> => {
    if (flushing !== null || size() === 0) return flushing ?? Promise.resolve();
    flushing = flush().finally(() => {
      flushing = null;
    });
    return flushing;
  };
  const timer = setInterval(() => void begin(), RETRY_MS);
  timer.unref();

  return {
    note(body, cause): void {
      noted += 1;
      const { requestId, changes, unreadable } = parseDelivery(body);
      for (const { variantId } of changes) variantIds.add(variantId);
      for (const { variantId } of unreadable) {
        if (variantId === null) everything = true;
        else variantIds.add(variantId);
      }
      if (variantIds.size > MAX_VARIANTS) {
        everything = true;
        variantIds.clear();
      }
      if (now() < nextNewsAtMs) return;
      nextNewsAtMs = now() + NEWS_EVERY_MS;
      log.error(
        { err: cause, noted, requestId },
        'deliveries are not stored: what they are about will be read instead',
      );
    },
    get size() {
      return size();
    },
    get noted() {
      return noted;
    },
    async stop(): Promise<void> {
      clearInterval(timer);
      await flushing;
      await begin();
    },
  };
}
