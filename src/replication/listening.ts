/**
 * Whether receivers were up without a gap. Webhooks are sent once: those sent while no receiver was up are lost, and so are
 * requests in flight when one ended. Reading makes up for both.
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
      /** Taken to have ended; the read for it has been requested. */
      isEnded: z.boolean(),
    }),
  ),
});
type KnownReceivers = z.infer<typeof knownReceiversSchema>;
type Known = KnownReceivers['receivers'][string];

interface Listening {
  /** How long no receiver was up; zero: only requests in flight may be lost; null: nothing can have been missed. */
  readonly silentMs: number | null;
  /** There was no receiver before: the first read has seen nothing yet. */
  readonly isFirst: boolean;
  readonly known: KnownReceivers;
}

/** A receiver that is cut off from the engine may still be answering. */
const ENDED_AFTER_MS = 60_000;
const FORGOTTEN_AFTER_MS = 7 * 24 * 60 * 60_000;

interface Look {
  /** By name. */
  readonly receivers: ReadonlyMap<string, ReceiverNote>;
  readonly atMs: number;
  /** When this lead first looked: who was not heard of before that may have been there all the same. */
  readonly sinceMs: number;
}

/** @param known null: nobody ever looked. @returns null while no receiver is heard of. */
export function listening(
  known: KnownReceivers | null,
  { receivers: now, atMs: nowMs, sinceMs }: Look,
): Listening | null {
  if (now.size === 0) return null;
  const before = new Map(Object.entries(known?.receivers ?? {}));
  const hasStayed = [...now].some(([name, { life }]) => before.get(name)?.life === life);
  const hasChanged = [...now].some(([name, { life }]) => isOther(before.get(name), life));
  const ended = [...before].filter(([name, was]) => !now.has(name) && isOver(was, nowMs, sinceMs));
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

function isOver({ isEnded, seenAtMs }: Known, nowMs: number, sinceMs: number): boolean {
  return !isEnded && nowMs - Math.max(seenAtMs, sinceMs) >= ENDED_AFTER_MS;
}
