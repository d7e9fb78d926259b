/**
 * Authentic deliveries that the store could not take (DESIGN §10). Their variants are kept in memory and put on
 * record as obligations as soon as the store commits again. The service will not send them a second time.
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
  note(body: Uint8Array): void;
  /** Variants that wait to be put on record. */
  readonly size: number;
  /** Deliveries noted since the start. */
  readonly noted: number;
  stop(): void;
}

const RETRY_MS = 500;
/** Beyond this many variants the whole mirror is in doubt. */
const MAX_VARIANTS = 100_000;

export function keepUnstored({ writer, now, log }: UnstoredDeps): UnstoredDeliveries {
  const variantIds = new Set<string>();
  let everything = false;
  let noted = 0;
  let isFlushing = false;

  const flush = async (): Promise<void> => {
    if (isFlushing || (variantIds.size === 0 && !everything)) return;
    isFlushing = true;
    const sent = [...variantIds];
    const all = everything;
    try {
      const atMs = now();
      // What cannot be told apart any more is what a silence leaves: every product must be read.
      if (all) await writer.append({ kind: 'downtime', atMs, downSinceMs: null });
      else
        await writer.append({
          kind: 'oblige',
          atMs,
          reason: 'not_stored',
          productIds: [],
          variantIds: sent,
        });
      for (const id of sent) variantIds.delete(id);
      if (all) everything = false;
      log.warn({ variants: sent.length, everything: all }, 'the store commits again: what it missed is read');
    } catch {
      // Still kept; the next tick tries again. The store's own trouble is logged where deliveries are answered.
    } finally {
      isFlushing = false;
    }
  };
  const timer = setInterval(() => void flush(), RETRY_MS);
  timer.unref();

  return {
    note(body): void {
      noted += 1;
      const { changes, unreadable } = parseDelivery(body);
      for (const { variantId } of changes) variantIds.add(variantId);
      for (const { variantId } of unreadable) {
        if (variantId === null) everything = true;
        else variantIds.add(variantId);
      }
      if (variantIds.size > MAX_VARIANTS) {
        everything = true;
        variantIds.clear();
      }
    },
    get size() {
      return variantIds.size + (everything ? 1 : 0);
    },
    get noted() {
      return noted;
    },
    stop: () => clearInterval(timer),
  };
}
