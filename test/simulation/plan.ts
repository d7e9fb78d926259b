/** A run, drawn from its seed before it begins, so that a failing one can be shortened. */
import { createRandom, type Random } from '../../src/sandbox/world/random.ts';
import type { DiskFault, DiskName } from './disk.ts';
import { drawSocketRoom, lifeTroubles, type LifeDeed } from './life-plan.ts';

export const OPERATIONS = [
  ...(['adjust', 'add', 'order', 'cancel', 'ship', 'flip', 'burst', 'assemble', 'disassemble'] as const),
  ...(['create_product', 'create_variant', 'add_warehouse', 'remove_warehouse', 'delete_variant'] as const),
  ...(['move_variant', 'delete_product', 'restore_product', 'rename'] as const),
];
export type Operation = (typeof OPERATIONS)[number];
export const STRUCTURE = OPERATIONS.slice(OPERATIONS.indexOf('create_product'));

export const MANGLINGS = [
  ...(['same_request_id', 'unknown_reason', 'extra_fields', 'broken_item', 'broken_neighbour'] as const),
  'broken_json' as const,
];
export type Mangling = 'none' | (typeof MANGLINGS)[number];

export interface Fate {
  readonly lost: boolean;
  readonly delayMs: number;
  readonly againMs: number | null;
  readonly mangling: Mangling;
}

export const READ_FAULTS = [
  ...(['stale', 'slow', 'torn', 'server_error', 'rate_limited', 'unauthorized', 'reset', 'refused'] as const),
  ...(['all_not_found', 'empty_list', 'nonsense'] as const),
  ...(['no_warehouses', 'first_variant', 'listed_twice', 'hidden_warehouse'] as const),
];
export type ReadFault = (typeof READ_FAULTS)[number];
export type DetailFault = 'no_warehouses' | 'first_variant' | 'listed_twice' | 'hidden_warehouse';

export interface SceneDeed {
  readonly do: 'scene';
  readonly scene: Scene;
  readonly a: number;
  readonly b: number;
  readonly c: number;
}

export type Action =
  | SceneDeed
  | LifeDeed
  | {
      readonly do: 'operation';
      readonly what: Operation;
      readonly a: number;
      readonly b: number;
      readonly c: number;
      readonly fate: Fate;
    }
  | {
      readonly do: 'future';
      readonly a: number;
      readonly b: number;
      readonly aheadMs: number;
      readonly fate: Fate;
    }
  | { readonly do: 'reads'; readonly fault: ReadFault; readonly probability: number; readonly forMs: number }
  | { readonly do: 'cut'; readonly forMs: number }
  | { readonly do: 'expire_tokens' }
  | { readonly do: 'expire_channel'; readonly forMs: number }
  | { readonly do: 'kill'; readonly effects: number | null; readonly downMs: number }
  | { readonly do: 'stop'; readonly downMs: number }
  | { readonly do: 'stand_still'; readonly forMs: number }
  | { readonly do: 'disk'; readonly of: DiskName | 'both'; readonly fault: DiskFault; readonly forMs: number }
  | {
      readonly do: 'slow_disk';
      readonly of: DiskName | 'both';
      readonly commitMs: number;
      readonly forMs: number;
    }
  | { readonly do: 'mirror_clock'; readonly byMs: number }
  | { readonly do: 'service_clock'; readonly byMs: number }
  | { readonly do: 'resync'; readonly products: number | null }
  | { readonly do: 'unknown_event' }
  | { readonly do: 'unknown_variants'; readonly count: number }
  | { readonly do: 'replay'; readonly back: number }
  | { readonly do: 'back_up' }
  | { readonly do: 'restore'; readonly of: DiskName | 'nothing'; readonly downMs: number };

interface Step {
  readonly atMs: number;
  readonly action: Action;
}

/**
 * `history`: faults of every kind, each with its exceptions; `lives`: life cycles of process, machine and files, with
 * a store whose answers are true, so that nothing excuses a wrong value except a webhook that the network lost;
 * `stream`: the mirror takes its deliveries from a stream, to which three receivers publish, one of them a second
 * mirror.
 */
export type Kind = 'history' | 'lives' | 'stream';

export interface Plan {
  readonly seed: number;
  readonly kind: Kind;
  /** Room of the passed socket's accept queue; null if the process opens its own socket. */
  readonly socketRoom: number | null;
  /** Receiver and mirror are two processes. */
  readonly isSplit: boolean;
  readonly startMs: number;
  readonly products: number;
  readonly serviceOffsetMs: number;
  readonly nodeSkewMs: number;
  readonly reconcileCron: string | null;
  readonly resyncCron: string | null;
  readonly maxConcurrency: number;
  readonly maxRps: number;
  readonly readLatencyMs: number;
  readonly leavesOutWarehouses: boolean;
  readonly dateAheadMs: number;
  readonly instantReads: boolean;
  readonly activeMs: number;
  readonly steps: readonly Step[];
}

const MINUTE_MS = 60_000;

export function drawPlan(seed: number, kind: Kind = 'history'): Plan {
  return kind === 'lives' ? drawLives(seed) : drawHistory(seed, kind);
}

function drawLives(seed: number): Plan {
  const random = createRandom(seed, 'lives');
  const weather: Weather = {
    loss: random.pick([0, 0, 0.02, 0.1]),
    delay: random.pick([0, 0.1]),
    again: random.pick([0, 0.05]),
    mangle: 0,
    bursts: 0,
    structure: random.pick([0, 0.03]),
    troubleShare: 1,
    troubles: [...lifeTroubles(random), ...quietTroubles(random)],
  };
  const steps: Step[] = [];
  let atMs = random.int(0, 5_000);
  const operateFor = (forMs: number): void => {
    const count = Math.min(40, Math.ceil((forMs / 1_000) * random.pick([0.5, 2, 4])));
    for (let i = 0; i < count; i += 1)
      steps.push({ atMs: atMs + random.int(0, forMs), action: drawOperation(random, weather, 'short') });
    atMs += forMs;
  };
  const rounds = random.int(2, 8);
  for (let round = 0; round < rounds; round += 1) {
    operateFor(random.int(500, 10_000));
    const action = drawDeed(random, weather, 'short');
    steps.push({ atMs, action });
    operateFor(random.pick([300, 3_000, troubledMs(action)]));
    // Another trouble before the first one has been overcome.
    if (random.chance(0.3))
      steps.push({ atMs: atMs + random.int(0, 8_000), action: drawDeed(random, weather, 'short') });
    // Quiet, so that no later webhook shows what is missing.
    atMs += random.int(1_000, 5_000) + (random.chance(0.8) ? QUIET_MS : 0) + troubledMs(action);
  }
  return {
    seed,
    kind: 'lives',
    socketRoom: drawSocketRoom(random),
    isSplit: random.chance(0.5),
    startMs: 1_790_000_000_000 + random.int(0, 86_400_000),
    products: random.pick([5, 12, 30, 60]),
    serviceOffsetMs: random.pick([0, 0, random.int(-5_000, 5_000)]),
    nodeSkewMs: 0,
    reconcileCron: random.pick(['*/15 * * * *', '* * * * *', null, null]),
    resyncCron: random.pick(['0 3 * * *', null]),
    maxConcurrency: random.pick([1, 3, 8]),
    maxRps: random.pick([5, 50, 50]),
    readLatencyMs: random.pick([0, 20, 200]),
    leavesOutWarehouses: false,
    dateAheadMs: 0,
    instantReads: random.chance(0.8),
    activeMs: atMs,
    steps: [...steps, ...drawFlood(seed, atMs)].toSorted((one, other) => one.atMs - other.atMs),
  };
}

/** One webhook with more unknown variants than the feed lists, in a few stories. */
function drawFlood(seed: number, activeMs: number): Step[] {
  const random = createRandom(seed, 'flood');
  if (!random.chance(0.04)) return [];
  const action: Action = { do: 'unknown_variants', count: random.int(2_001, 2_500) };
  return [{ atMs: random.int(0, activeMs), action }];
}

/** Longer than a wrong value may be trusted (watch/trusted.ts). */
const QUIET_MS = 18_000;
const LONGEST_TROUBLE_MS = 120_000;

function troubledMs(action: Action): number {
  const forMs = 'downMs' in action ? action.downMs : 'forMs' in action ? action.forMs : 0;
  return Math.min(LONGEST_TROUBLE_MS, forMs);
}

function drawHistory(seed: number, kind: Kind): Plan {
  const random = createRandom(seed, 'plan');
  const length: Length = random.chance(0.04) ? 'long' : 'short';
  const activeMs = length === 'long' ? random.int(25, 50) * MINUTE_MS : random.int(40, 300) * 1_000;
  const weather = drawWeather(random);
  const count = random.int(40, length === 'long' ? 250 : 350);
  const steps: Step[] = [];
  for (let i = 0; i < count; i += 1) {
    const action = drawDeed(random, weather, length);
    const at = random.int(0, activeMs);
    steps.push({ atMs: at, action });
    // Rules fail most often on changes of one instant.
    if (action.do === 'operation' && random.chance(weather.bursts)) {
      const more = random.int(1, 4);
      for (let j = 0; j < more; j += 1) {
        const again = drawOperation(random, weather, length);
        const near = random.chance(0.5) ? { a: action.a, b: action.b } : {};
        const atMs = Math.min(activeMs, at + random.pick([0, 0, 1, 30, 400, 1_900]));
        steps.push({ atMs, action: { ...again, ...near } });
      }
    }
  }
  const store = createRandom(seed, 'store');
  const leavesOutWarehouses = store.chance(0.15);
  const dateAheadMs = store.pick([0, 0, 0, 0, 0, 5_000, 600_000]);
  const scenes = drawScenes(createRandom(seed, 'scenes'), activeMs, leavesOutWarehouses);
  steps.push(...scenes, ...drawFlood(seed, activeMs));
  steps.sort((a, b) => a.atMs - b.atMs);
  const isDateAlone = dateAheadMs === 600_000 && store.chance(0.7);
  const isPlain =
    scenes.some(({ action }) => action.do === 'scene' && NEEDS_PLAIN.has(action.scene)) && store.chance(0.7);
  const startMs = 1_790_000_000_000 + random.int(0, 86_400_000);
  const products = random.pick([2, 5, 5, 12, 12, 30, 60]);
  const serviceOffsetMs = random.pick([0, 0, 0, random.int(-5_000, 5_000), random.int(-600_000, 600_000)]);
  const nodeSkewMs = random.pick([0, 0, 0, 200, 500]);
  return {
    seed,
    kind,
    socketRoom: null,
    isSplit: false,
    startMs,
    products,
    serviceOffsetMs,
    nodeSkewMs: isPlain ? 0 : nodeSkewMs,
    reconcileCron:
      length === 'long'
        ? random.pick([null, '*/15 * * * *'])
        : random.pick(['*/15 * * * *', '* * * * *', null]),
    resyncCron: length === 'long' ? null : random.pick(['0 3 * * *', '*/3 * * * *', null]),
    maxConcurrency: random.pick([1, 3, 8]),
    maxRps: random.pick([5, 50, 50]),
    readLatencyMs: random.pick([0, 20, 200, 1_500]),
    leavesOutWarehouses,
    dateAheadMs,
    instantReads: random.chance(0.8),
    activeMs,
    steps: steps.filter(
      ({ action }) =>
        !(leavesOutWarehouses && isUnlisted(action)) &&
        !((isDateAlone || isPlain) && setsClock(action)) &&
        !(isPlain && hides(action)),
    ),
  };
}

const SCENES = {
  late_after_read: 8_000,
  overlapping_reads: 12_000,
  overlapping_absence: 12_000,
  clock_back: 12_000,
  node_ahead: 8_000,
  moved: 50_000,
  overlapping_move: 15_000,
  untold_burst: 15_000,
  odd_details: 50_000,
  hidden_level: 150_000,
};
export type Scene = keyof typeof SCENES;
export const SCENE_NAMES = Object.keys(SCENES) as Scene[];

const NEEDS_PLAIN: ReadonlySet<Scene> = new Set(['moved', 'untold_burst', 'hidden_level']);
const HIDING: readonly ReadFault[] = ['first_variant', 'all_not_found', 'empty_list', 'refused', 'nonsense'];

function hides(action: Action): boolean {
  if (action.do === 'scene') return action.scene === 'odd_details';
  return action.do === 'restore' || (action.do === 'reads' && HIDING.includes(action.fault));
}

function isUnlisted(action: Action): boolean {
  return action.do === 'operation' && action.what === 'remove_warehouse';
}

/** With other wrong clocks it takes hours to detect a wrong Date. */
function setsClock(action: Action): boolean {
  if (action.do === 'scene') return action.scene === 'clock_back' || action.scene === 'node_ahead';
  return ['mirror_clock', 'service_clock', 'future', 'stand_still'].includes(action.do);
}

type Length = 'short' | 'long';

interface Weather {
  readonly loss: number;
  readonly delay: number;
  readonly again: number;
  readonly mangle: number;
  readonly bursts: number;
  readonly structure: number;
  readonly troubles: readonly Trouble[];
  readonly troubleShare: number;
}

type Trouble = readonly [weight: number, draw: (random: Random, length: Length) => Action];

const standStill = (weight: number): Trouble => [
  weight,
  (r) => ({ do: 'stand_still', forMs: r.int(100, 20_000) }),
];

const faultyDisk = (weight: number): Trouble => [
  weight,
  (r) => ({
    do: 'disk',
    of: r.pick(['inbox', 'mirror', 'mirror', 'both'] as const),
    fault: r.pick(['locked', 'full', 'unsynced'] as const),
    forMs: r.pick([r.int(10, 8_000), r.int(10, 8_000), r.int(8_000, 60_000)]),
  }),
];

const slowDisk = (weight: number): Trouble => [
  weight,
  (r) => ({
    do: 'slow_disk',
    of: r.pick(['inbox', 'mirror', 'both'] as const),
    commitMs: r.pick([20, 200, 1_200]),
    forMs: r.int(100, 10_000),
  }),
];

/** Troubles after which the store's answers are still true. */
function quietTroubles(random: Random): readonly Trouble[] {
  const some = (probability: number, weight: number): number => (random.chance(probability) ? weight : 0);
  return [
    standStill(some(0.3, 1)),
    faultyDisk(some(0.4, 1)),
    slowDisk(some(0.3, 0.5)),
    [some(0.3, 0.5), (r) => ({ do: 'cut', forMs: r.pick([r.int(100, 5_000), r.int(5_000, 60_000)]) })],
    [some(0.3, 0.5), (r) => ({ do: 'resync', products: r.chance(0.5) ? null : r.int(1, 5) })],
    [some(0.2, 0.5), (r) => ({ do: 'replay', back: r.int(1, 100) })],
  ];
}

function drawWeather(random: Random): Weather {
  const some = (probability: number, weight: number): number => (random.chance(probability) ? weight : 0);
  const weather: Weather = {
    loss: random.pick([0, 0, 0.02, 0.1, 0.3]),
    delay: random.pick([0, 0.1, 0.4]),
    again: random.pick([0, 0.05, 0.2]),
    mangle: random.pick([0, 0, 0.05, 0.15]),
    bursts: random.pick([0, 0.1, 0.4]),
    structure: random.pick([0, 0.03, 0.15]),
    troubleShare: random.pick([0, 0.04, 0.1, 0.2]),
    troubles: [
      [some(0.6, 3), drawReads],
      [some(0.3, 1), (r) => ({ do: 'cut', forMs: r.pick([r.int(100, 5_000), r.int(5_000, 120_000)]) })],
      [some(0.3, 1), () => ({ do: 'expire_tokens' })],
      [some(0.15, 0.3), (r) => ({ do: 'expire_channel', forMs: r.int(1_000, 60_000) })],
      [
        some(0.5, 2),
        (r) => ({ do: 'kill', effects: r.chance(0.7) ? r.int(1, 60) : null, downMs: drawDown(r) }),
      ],
      [some(0.3, 1), (r) => ({ do: 'stop', downMs: drawDown(r) })],
      standStill(some(0.2, 1)),
      faultyDisk(some(0.4, 2)),
      slowDisk(some(0.3, 1)),
      [
        some(0.25, 1),
        (r) => ({ do: 'mirror_clock', byMs: r.pick([-1, 1]) * r.pick([500, 3_000, 90_000, 3_600_000]) }),
      ],
      [
        some(0.25, 1),
        (r) => ({
          do: 'service_clock',
          byMs: r.pick([-1, -1, 1]) * r.pick([300, 3_000, 10_000, 90_000, 3_600_000]),
        }),
      ],
      [some(0.3, 0.7), (r) => ({ do: 'resync', products: r.chance(0.5) ? null : r.int(1, 5) })],
      [some(0.2, 0.5), () => ({ do: 'unknown_event' })],
      [some(0.3, 1), (r) => ({ do: 'replay', back: r.int(1, 100) })],
      [
        some(0.3, 1),
        (r, length) => ({
          do: 'future',
          a: r.int(0, 1_000_000),
          b: r.int(-20, 20),
          aheadMs: r.pick([2_000, 60_000, 240_000, 400_000, 86_400_000]),
          fate: drawFate(r, { loss: 0, delay: 0.2, again: 0, mangle: 0 }, length),
        }),
      ],
    ],
  };
  const backUps = some(0.2, 0.6);
  const losses = some(0.2, 0.4);
  return {
    ...weather,
    troubles: [
      ...weather.troubles,
      [backUps, () => ({ do: 'back_up' })],
      [
        Math.max(backUps, losses),
        (r) => ({ do: 'restore', of: r.pick(['mirror', 'inbox', 'nothing'] as const), downMs: drawDown(r) }),
      ],
    ],
  };
}

/** Few kinds per story: one clock fault hides another. */
function drawScenes(random: Random, activeMs: number, leavesOutWarehouses: boolean): Step[] {
  const fitting = SCENE_NAMES.filter((scene) => SCENES[scene] <= activeMs);
  const kinds: readonly Scene[] = [
    leavesOutWarehouses ? random.pick(['late_after_read', 'untold_burst']) : random.pick(fitting),
    random.pick(fitting),
  ];
  return Array.from({ length: random.pick([0, 1, 2, 4, 6]) }, () => {
    const scene = random.pick(kinds);
    return {
      atMs: random.int(0, Math.max(0, activeMs - SCENES[scene])),
      action: {
        do: 'scene',
        scene,
        a: random.int(0, 1_000_000),
        b: random.int(0, 8),
        c: random.int(0, 1_000_000),
      },
    };
  });
}

function drawDown(random: Random): number {
  return random.pick([1, random.int(1, 4_000), random.int(4_000, 6_000), random.int(6_000, 60_000)]);
}

function drawReads(random: Random): Action {
  // Longer than the mass-removal guard's hour.
  if (random.chance(0.08)) {
    return { do: 'reads', fault: 'all_not_found', probability: 1, forMs: random.int(40_000, 150_000) };
  }
  if (random.chance(0.15)) {
    return {
      do: 'reads',
      fault: random.pick(['no_warehouses', 'first_variant', 'listed_twice', 'hidden_warehouse']),
      probability: random.pick([0.5, 1, 1]),
      forMs: random.int(30_000, 200_000),
    };
  }
  return {
    do: 'reads',
    fault: random.pick([
      ...(['stale', 'stale', 'slow', 'torn', 'torn', 'server_error', 'rate_limited'] as const),
      ...(['unauthorized', 'reset', 'refused', 'all_not_found', 'empty_list', 'nonsense'] as const),
    ]),
    probability: random.pick([0.2, 0.6, 1]),
    forMs: random.pick([random.int(100, 5_000), random.int(5_000, 60_000)]),
  };
}

function drawDeed(random: Random, weather: Weather, length: Length): Action {
  const total = weather.troubles.reduce((sum, [weight]) => sum + weight, 0);
  if (total === 0 || !random.chance(weather.troubleShare)) return drawOperation(random, weather, length);
  let at = random.next() * total;
  for (const [weight, draw] of weather.troubles) {
    at -= weight;
    if (at < 0) return draw(random, length);
  }
  return drawOperation(random, weather, length);
}

type OperationDeed = Extract<Action, { do: 'operation' }>;

function drawOperation(random: Random, weather: Weather, length: Length): OperationDeed {
  const what: Operation = random.chance(weather.structure)
    ? random.pick(STRUCTURE.toSpliced(6, 0, 'delete_product'))
    : random.pick([
        ...(['adjust', 'adjust', 'adjust', 'add', 'add', 'add', 'order', 'order', 'order'] as const),
        ...(['cancel', 'ship', 'flip', 'burst', 'assemble', 'disassemble'] as const),
      ]);
  return {
    do: 'operation',
    what,
    a: random.chance(0.7) ? random.int(0, 5) : random.int(0, 1_000_000),
    b: random.int(0, 8),
    c: random.int(0, 1_000_000),
    fate: drawFate(random, weather, length),
  };
}

function drawFate(
  random: Random,
  weather: Pick<Weather, 'loss' | 'delay' | 'again' | 'mangle'>,
  length: Length,
): Fate {
  const delays = [
    random.int(1, 100),
    random.int(100, 5_000),
    random.int(5_000, length === 'long' ? 3_600_000 : 120_000),
  ];
  return {
    lost: random.chance(weather.loss),
    delayMs: random.chance(weather.delay) ? random.pick(delays) : 0,
    againMs: random.chance(weather.again) ? random.pick(delays) : null,
    mangling: random.chance(weather.mangle) ? random.pick(MANGLINGS) : 'none',
  };
}
