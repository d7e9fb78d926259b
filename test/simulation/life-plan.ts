/** Draws the life cycles of a mirror: how its processes, its machine and its files end, and how they come back. */
import type { Random } from '../../src/sandbox/world/random.ts';
import type { DiskName } from './disk.ts';

export const DAMAGES = ['deleted', 'emptied', 'truncated', 'flipped', 'replaced', 'older', 'backup'] as const;
/**
 * `flipped`: a page of the file has a wrong type; `replaced`: by the database of another program; `older`: by the copy
 * that the last `keep_copy` kept; `backup`: by a copy that `stock-mirror backup` would have written then.
 */
export type Damage = (typeof DAMAGES)[number];

export interface FileDeed {
  readonly of: DiskName | 'both';
  readonly how: Damage;
  /** Selects the place in the file, from 0 to 1. */
  readonly at: number;
}

/** Settings that an operator changes between two starts. */
export interface Settings {
  readonly reconcileCron: string | null;
  readonly verifyWithinHours: number;
  readonly resyncCron: string | null;
  readonly maxConcurrency: number;
  readonly maxRps: number;
  readonly retentionDays: number;
  /** The store's webhook secret is replaced as well; the old one stays as the previous secret. */
  readonly isSecretReplaced: boolean;
}

/** The processes concerned; a story with one process has only `both`. */
export type Half = 'both' | 'receiver' | 'mirror';

/** `reboot`: an orderly stop, after which the kernel and its sockets end as well. */
type End = 'stop' | 'kill' | 'power_cut' | 'reboot';

const SOCKET_ROOMS = [null, null, 4, 16, 4_096];

export type LifeDeed =
  | {
      readonly do: 'life';
      readonly half: Half;
      readonly end: End;
      readonly downMs: number;
      /** Effects until a kill; null kills at once. */
      readonly effects: number | null;
      /** The service manager opens a new listening socket meanwhile, as it does after each boot. */
      readonly isSocketNew: boolean;
      /** The new socket has by chance the number of the old one. */
      readonly isInodeEqual: boolean;
      /** Step of the wall clock while the process is down. */
      readonly wallStepMs: number;
      readonly files: FileDeed | null;
      readonly settings: Settings | null;
    }
  | { readonly do: 'half_stands_still'; readonly half: Half; readonly forMs: number }
  | { readonly do: 'suspend_machine'; readonly forMs: number }
  | { readonly do: 'set_wall_clock'; readonly byMs: number }
  | { readonly do: 'keep_copy' }
  | { readonly do: 'files_while_running'; readonly of: DiskName; readonly how: 'deleted' | 'replaced' };

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const STEPS_MS = [3_000, 90_000, HOUR_MS, 7 * HOUR_MS, 40 * DAY_MS];

type Weighted = readonly (readonly [weight: number, draw: (random: Random) => LifeDeed])[];

/** Each story has its own mixture, so that some stories show one kind of life cycle many times. */
export function lifeTroubles(random: Random): Weighted {
  const some = (probability: number, weight: number): number => (random.chance(probability) ? weight : 0);
  const files = some(0.5, 1);
  return [
    [some(0.9, 2), (r) => drawLife(r, null)],
    [files, (r) => drawLife(r, drawFiles(r))],
    [files, () => ({ do: 'keep_copy' })],
    [
      some(0.3, 0.7),
      (r) => ({ do: 'suspend_machine', forMs: r.pick([r.int(2_500, 20_000), r.int(60_000, 2 * HOUR_MS)]) }),
    ],
    [
      some(0.3, 0.7),
      (r) => ({
        do: 'half_stands_still',
        half: drawHalf(r),
        forMs: r.pick([r.int(100, 2_500), r.int(2_500, 40_000)]),
      }),
    ],
    [some(0.3, 0.7), (r) => ({ do: 'set_wall_clock', byMs: drawStep(r) })],
    [
      some(0.2, 0.5),
      (r) => ({
        do: 'files_while_running',
        of: r.pick(['inbox', 'mirror'] as const),
        how: r.pick(['deleted', 'replaced'] as const),
      }),
    ],
  ];
}

/** @returns the room of the passed socket's accept queue; null if the process opens its own socket. */
export function drawSocketRoom(random: Random): number | null {
  return random.pick(SOCKET_ROOMS);
}

function drawHalf(random: Random): Half {
  return random.pick(['both', 'receiver', 'mirror', 'mirror'] as const);
}

export function drawLife(random: Random, files: FileDeed | null): LifeDeed {
  const end = random.pick(['stop', 'stop', 'stop', 'kill', 'kill', 'power_cut', 'reboot'] as const);
  return {
    do: 'life',
    // No process may have a file open that is changed.
    half:
      files === null ? drawHalf(random) : files.of === 'mirror' ? random.pick(['both', 'mirror']) : 'both',
    end,
    downMs: random.pick([1, random.int(1, 1_000), random.int(1_000, 25_000), random.int(35_000, 120_000)]),
    effects: random.chance(0.6) ? random.int(1, 60) : null,
    isSocketNew: random.chance(0.15),
    isInodeEqual: random.chance(0.5),
    wallStepMs: random.chance(0.1) ? drawStep(random) : 0,
    files,
    settings: random.chance(0.2) ? drawSettings(random) : null,
  };
}

function drawFiles(random: Random): FileDeed {
  const of = random.pick(['inbox', 'mirror', 'mirror', 'both'] as const);
  const fitting = DAMAGES.filter((how) => how !== 'backup' || of === 'mirror');
  return { of, how: random.pick(fitting), at: random.next() };
}

function drawStep(random: Random): number {
  return random.pick([-1, 1]) * random.pick(STEPS_MS);
}

function drawSettings(random: Random): Settings {
  return {
    reconcileCron: random.pick(['*/15 * * * *', '* * * * *', null]),
    verifyWithinHours: random.pick([1, 2, 24]),
    resyncCron: random.pick(['0 3 * * *', null]),
    maxConcurrency: random.pick([1, 3, 8]),
    maxRps: random.pick([5, 50]),
    retentionDays: random.pick([1, 30]),
    isSecretReplaced: random.chance(0.3),
  };
}
