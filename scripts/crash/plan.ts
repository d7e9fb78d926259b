/** When to kill: one plan per kill, drawn from the seed. The instants are seeded; what they meet is up to the machine. */
import type { Random } from '../../src/sandbox/world/random.ts';

export type KillPlan =
  /** In the first start of an empty database: loading, migration, the first commits. */
  | { readonly moment: 'first_start'; readonly afterSpawnMs: number }
  /** While it starts on a database that an earlier kill left. */
  | { readonly moment: 'start'; readonly afterSpawnMs: number }
  /** Under load, at any time since it listens. */
  | { readonly moment: 'load'; readonly afterListeningMs: number }
  /** Just after an operator has asked for a resync. */
  | { readonly moment: 'resync'; readonly afterListeningMs: number; readonly afterAskingMs: number }
  /** As the write-ahead log is being moved into the database file. */
  | { readonly moment: 'checkpoint'; readonly afterListeningMs: number }
  /** While what is older than the retention time is deleted. */
  | { readonly moment: 'prune'; readonly afterListeningMs: number };

export type Moment = KillPlan['moment'];

/** Some of the first starts come first; the kills that remain fall on one database, one after the other. */
const FIRST_START_SHARE = 0.08;
/** A start takes about this long, loading included. */
const START_MS = 1_000;
/** A checkpoint comes about once a second; without one by then the kill comes all the same. */
const CHECKPOINT_WITHIN_MS = 1_600;

export function planKills(count: number, random: Random): KillPlan[] {
  const firstStarts = Math.max(1, Math.round(count * FIRST_START_SHARE));
  return Array.from({ length: count }, (_, i): KillPlan => {
    if (i < firstStarts) return { moment: 'first_start', afterSpawnMs: random.int(0, START_MS) };
    const draw = random.next();
    if (draw < 0.1) return { moment: 'start', afterSpawnMs: random.int(0, START_MS) };
    if (draw < 0.22) {
      return {
        moment: 'resync',
        afterListeningMs: random.int(0, 300),
        afterAskingMs: random.int(0, 500),
      };
    }
    if (draw < 0.36) return { moment: 'checkpoint', afterListeningMs: CHECKPOINT_WITHIN_MS };
    if (draw < 0.46) return { moment: 'prune', afterListeningMs: random.int(60, 700) };
    // Long enough for runs to end, gaps to be proven and re-read requests to be met.
    if (draw < 0.51) return { moment: 'load', afterListeningMs: random.int(3_500, 6_000) };
    return { moment: 'load', afterListeningMs: random.int(0, 1_600) };
  });
}
