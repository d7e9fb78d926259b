/**
 * Whether somebody listened all the time. A webhook comes once: what came while no receiver listened is lost, and so is
 * what one of them had in hand when it ended. Both are made up for by reading.
 */
import type { ReceiverNote } from './presence.ts';

/** What the lead knows of the receivers; kept where the next lead finds it. */
export type KnownReceivers = Readonly<Record<string, string>>;

export interface ListeningNews {
  /** How long nobody listened; null: it never did. Zero: something may have been lost in hand. */
  readonly silentMs: number | null;
}

/**
 * @param known the life of each receiver, as last seen; null: nobody ever looked.
 * @returns null when nothing can have been missed.
 */
export function listeningNews(
  known: KnownReceivers | null,
  now: ReadonlyMap<string, ReceiverNote>,
): ListeningNews | null {
  // Until one tells of itself, nothing is known of when it began to listen.
  if (now.size === 0) return null;
  if (known === null) return { silentMs: shortestSilence(now) };
  const begun = [...now].filter(([name, { life }]) => known[name] !== life);
  const ended = Object.entries(known).filter(([name, life]) => now.get(name)?.life !== life);
  if (begun.length === 0 && ended.length === 0) return null;
  const stayed = [...now].some(([name, { life }]) => known[name] === life);
  return { silentMs: stayed ? 0 : longestSilence(now) };
}

export function knownOf(now: ReadonlyMap<string, ReceiverNote>): KnownReceivers {
  return Object.fromEntries([...now].map(([name, { life }]) => [name, life]));
}

/** They may have been silent one after the other: how long all were at once is not known, and at most this. */
function longestSilence(now: ReadonlyMap<string, ReceiverNote>): number {
  return Math.max(0, ...[...now.values()].map(({ silentMs }) => silentMs ?? 0));
}

function shortestSilence(now: ReadonlyMap<string, ReceiverNote>): number | null {
  const silences = [...now.values()].map(({ silentMs }) => silentMs).filter((ms) => ms !== null);
  return silences.length === 0 ? null : Math.max(...silences);
}
