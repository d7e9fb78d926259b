/**
 * Whether somebody listened all the time. A webhook comes once: what came while no receiver listened is lost, and so is
 * what one of them had in hand when it ended. Both are made up for by reading.
 */
import { z } from 'zod';
import { silenceMs } from '../core/silence.ts';
import type { ReceiverNote } from './presence.ts';

/** What the lead knows of the receivers; kept where the next lead finds it. Times are epoch ms of the lead's clock. */
export const knownReceiversSchema = z.object({
  /** When a receiver was last heard of, whichever. */
  listenedAtMs: z.number(),
  receivers: z.record(
    z.string(),
    z.object({
      life: z.string(),
      seenAtMs: z.number(),
      /** It was taken to have ended, and made up for. */
      isEnded: z.boolean(),
    }),
  ),
});
type KnownReceivers = z.infer<typeof knownReceiversSchema>;
type Known = KnownReceivers['receivers'][string];

interface Listening {
  /** How long nobody listened: zero, something may have been lost in hand; null, nothing can have been missed. */
  readonly silentMs: number | null;
  /** Nobody ever listened before: the first read has seen nothing yet. */
  readonly isFirst: boolean;
  readonly known: KnownReceivers;
}

/** A receiver may be cut off for a while, and be answering all the same. */
const ENDED_AFTER_MS = 60_000;
const FORGOTTEN_AFTER_MS = 7 * 24 * 60 * 60_000;

/** @param known null: nobody ever looked. @param now by name. @returns null while no receiver is heard of. */
export function listening(
  known: KnownReceivers | null,
  now: ReadonlyMap<string, ReceiverNote>,
  nowMs: number,
): Listening | null {
  if (now.size === 0) return null;
  const before = new Map(Object.entries(known?.receivers ?? {}));
  const hasStayed = [...now].some(([name, { life }]) => before.get(name)?.life === life);
  const hasChanged = [...now].some(([name, { life }]) => isOther(before.get(name), life));
  const ended = [...before].filter(([name, was]) => !now.has(name) && isOver(was, nowMs));
  const isNews = !hasStayed || hasChanged || ended.length > 0;
  const silentMs = hasStayed ? 0 : silenceMs(known?.listenedAtMs ?? nowMs, nowMs);
  const kept = [...before].filter(([, { seenAtMs }]) => nowMs - seenAtMs < FORGOTTEN_AFTER_MS);
  const receivers = {
    ...Object.fromEntries(kept),
    ...Object.fromEntries(ended.map(([name, was]) => [name, { ...was, isEnded: true }])),
    ...Object.fromEntries(
      [...now].map(([name, { life }]) => [name, { life, seenAtMs: nowMs, isEnded: false }]),
    ),
  };
  return {
    silentMs: isNews ? silentMs : null,
    isFirst: known === null,
    known: { listenedAtMs: nowMs, receivers },
  };
}

/** One more receiver, beside others that stay, misses nothing. */
function isOther(was: Known | undefined, life: string): boolean {
  return was !== undefined && was.life !== life;
}

function isOver({ isEnded, seenAtMs }: Known, nowMs: number): boolean {
  return !isEnded && nowMs - seenAtMs >= ENDED_AFTER_MS;
}
