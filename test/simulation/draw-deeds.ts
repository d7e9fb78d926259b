/** Draws single deeds of a story, and how often each kind of them comes. */
import type { Random } from '../../src/sandbox/world/random.ts';
import { MANGLINGS, STRUCTURE, type Action, type Fate, type Operation } from './plan.ts';

/** Longer than a wrong value may be trusted (watch/trusted.ts). */
export const QUIET_MS = 18_000;

export type Length = 'short' | 'long';

export interface Weather {
  readonly loss: number;
  readonly delay: number;
  readonly again: number;
  readonly mangle: number;
  readonly bursts: number;
  readonly structure: number;
  readonly troubles: readonly Trouble[];
  readonly troubleShare: number;
}

export type Trouble = readonly [weight: number, draw: (random: Random, length: Length) => Action];

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

const kill = (weight: number): Trouble => [
  weight,
  (r) => ({ do: 'kill', effects: r.chance(0.7) ? r.int(1, 60) : null, downMs: drawDown(r) }),
];

const stop = (weight: number): Trouble => [weight, (r) => ({ do: 'stop', downMs: drawDown(r) })];

/** What happens to the process of a mirror that takes its deliveries from a stream. */
export function streamTroubles(random: Random): readonly Trouble[] {
  const some = (probability: number): number => (random.chance(probability) ? 1 : 0);
  return [kill(some(0.5)), stop(some(0.3)), standStill(some(0.7))];
}

/** Troubles after which the store's answers are still true. */
export function quietTroubles(random: Random): readonly Trouble[] {
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

export function drawWeather(random: Random): Weather {
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
      kill(some(0.5, 2)),
      stop(some(0.3, 1)),
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

export function drawDeed(random: Random, weather: Weather, length: Length): Action {
  const total = weather.troubles.reduce((sum, [weight]) => sum + weight, 0);
  if (total === 0 || !random.chance(weather.troubleShare)) return drawOperation(random, weather, length);
  let at = random.next() * total;
  for (const [weight, draw] of weather.troubles) {
    at -= weight;
    if (at < 0) return draw(random, length);
  }
  return drawOperation(random, weather, length);
}

export type OperationDeed = Extract<Action, { do: 'operation' }>;

export function drawOperation(random: Random, weather: Weather, length: Length): OperationDeed {
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
