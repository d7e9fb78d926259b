/**
 * Authentic deliveries that the mirror could not commit (docs/architecture.md#when-nothing-can-be-committed).
 * Their variants are kept in memory, and become re-read requests as soon as the mirror commits again. The store will
 * not send them a second time.
 */
import type { Logger } from '../platform/log.ts';
import { parseDelivery } from '../store-api/delivery.ts';
import type { StoreWriter } from '../mirror/writer/store-writer.ts';

interface UnstoredDeps {
  readonly writer: Pick<StoreWriter, 'append'>;
  readonly now: () => number;
  readonly log: Logger;
}

export interface UnstoredDeliveries {
  /** @param cause why it was not committed. */
  note(body: Uint8Array, cause: Error): void;
  /** A request was turned away before its body was read. It may have been a delivery, about anything. */
  noteUnread(): void;
  /** Variants whose re-read request is not recorded yet. */
  readonly size: number;
  /** Deliveries noted since the start. */
  readonly noted: number;
  /** Makes a last attempt to record them. */
  stop(): Promise<void>;
}

const RETRY_MS = 500;
/** Beyond this many variants the whole mirror is read again. */
const MAX_VARIANTS = 100_000;
/** Variants recorded in one commit: deliveries wait for it. */
const AT_ONCE = 1_000;
/** The trouble is logged once in a while, not once a delivery. */
const NEWS_EVERY_MS = 10_000;
/** What may have been lost unread is read about when no more of it comes for a while, or goes on for long. */
const UNREAD_CALM_MS = 2_000;
const UNREAD_AT_LATEST_MS = 30_000;
/** Strangers can have themselves turned away: they must not order reads at will. */
const UNREAD_EVERY_MS = 15 * 60_000;

export function keepUnstored({ writer, now, log }: UnstoredDeps): UnstoredDeliveries {
  const variantIds = new Set<string>();
  let everything = false;
  let noted = 0;
  let nextNewsAtMs = Number.NEGATIVE_INFINITY;
  let flushing: Promise<void> | null = null;
  let unread: { readonly firstAtMs: number; latestAtMs: number; count: number } | null = null;
  let lossSweepAtMs = Number.NEGATIVE_INFINITY;

  const isLossSweepDue = (): boolean => {
    const nowMs = now();
    if (unread === null || nowMs - lossSweepAtMs < UNREAD_EVERY_MS) return false;
    return nowMs - unread.latestAtMs >= UNREAD_CALM_MS || nowMs - unread.firstAtMs >= UNREAD_AT_LATEST_MS;
  };
  /** Which products it was about is unknown: those that move are read first, as after any proven loss. */
  const scanCatalogue = async (): Promise<void> => {
    const found = unread;
    unread = null;
    try {
      const atMs = now();
      await writer.append({ kind: 'due', atMs, what: 'canary' });
      lossSweepAtMs = atMs;
      log.warn(
        { requests: found?.count },
        'requests were turned away unread, for lack of room or because of their address; deliveries may have been among them: the products that changed last are read again',
      );
    } catch {
      unread = found;
    }
  };
  const size = (): number => variantIds.size + (everything ? 1 : 0);
  const flushEverything = async (): Promise<void> => {
    // What is noted from here on is a new loss, which this entry may be too early for.
    everything = false;
    try {
      // Which products they were about is unknown, as after downtime: every product must be read.
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
      log.warn(
        found,
        'the mirror commits again: the products of the deliveries that it refused are read again',
      );
    } catch {
      // Still kept; the next tick tries again. The trouble was logged when the deliveries were noted.
    }
  };
  const begin = (): Promise<void> => {
    if (flushing !== null) return flushing;
    const isDue = isLossSweepDue();
    if (size() === 0 && !isDue) return Promise.resolve();
    flushing = (size() === 0 ? Promise.resolve() : flush())
      .then(() => (isDue ? scanCatalogue() : undefined))
      .finally(() => {
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
        'the mirror could not commit deliveries and answered 503: their products are read again as soon as it can',
      );
    },
    noteUnread(): void {
      const nowMs = now();
      unread ??= { firstAtMs: nowMs, latestAtMs: nowMs, count: 0 };
      unread.latestAtMs = nowMs;
      unread.count += 1;
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
