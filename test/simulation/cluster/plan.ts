/** What will happen to several machines in one run, drawn from its seed before it begins. */
import type { Role } from '../../../src/config/schemas.ts';
import { createRandom, type Random } from '../../../src/sandbox/world/random.ts';
import type { Fate, Operation } from '../plan.ts';
import { CLUSTER_SCENES, type ClusterScene } from './scenes.ts';

export type ClusterDeed =
  | {
      readonly do: 'operation';
      readonly what: Operation;
      readonly a: number;
      readonly b: number;
      readonly c: number;
      readonly fate: Fate;
    }
  | {
      readonly do: 'scene';
      readonly scene: ClusterScene;
      readonly a: number;
      readonly b: number;
      readonly c: number;
    }
  | {
      readonly do: 'stale_reads';
      readonly probability: number;
      readonly ageMs: number;
      readonly forMs: number;
    }
  | {
      readonly do: 'kill' | 'stop' | 'power_cut' | 'lose_mirror';
      readonly machine: number;
      readonly downMs: number;
    }
  | { readonly do: 'stand_still'; readonly machine: number; readonly forMs: number }
  | { readonly do: 'stand_still_lead'; readonly forMs: number }
  /** Null: of all machines. */
  | { readonly do: 'cut'; readonly machine: number | null; readonly forMs: number }
  | {
      readonly do: 'bad_way';
      readonly machine: number | null;
      readonly lossShare: number;
      readonly wayMs: number;
      readonly forMs: number;
    }
  | { readonly do: 'slow_disk'; readonly machine: number; readonly commitMs: number; readonly forMs: number }
  | { readonly do: 'clock'; readonly machine: number; readonly byMs: number }
  | { readonly do: 'lose_tail'; readonly count: number }
  | { readonly do: 'empty_engine' }
  | { readonly do: 'prune'; readonly machine: number }
  | { readonly do: 'resync'; readonly machine: number };

interface Step {
  readonly atMs: number;
  readonly deed: ClusterDeed;
}

interface MachinePlan {
  readonly name: string;
  readonly roles: readonly Role[];
  readonly wallOffsetMs: number;
}

export interface ClusterPlan {
  readonly seed: number;
  readonly startMs: number;
  readonly products: number;
  readonly machines: readonly MachinePlan[];
  readonly readLatencyMs: number;
  readonly retentionMs: number;
  readonly activeMs: number;
  readonly steps: readonly Step[];
}

const DAY_MS = 86_400_000;
const START_MS = 1_790_000_000_000;

export function drawClusterPlan(seed: number): ClusterPlan {
  const random = createRandom(seed, 'cluster plan');
  const machines = drawMachines(random);
  const activeMs = random.int(40, 150) * 1_000;
  const troubles = drawTroubles(random, machines.length);
  const isLossless = random.chance(0.4);
  const steps: Step[] = [];
  const count = random.int(40, 160);
  for (let i = 0; i < count; i += 1) {
    const deed = drawOperation(random, isLossless);
    const atMs = random.int(0, activeMs);
    steps.push({ atMs, deed });
    // The same levels from all receivers, at nearly one instant.
    for (let more = random.chance(0.3) ? random.int(1, 4) : 0; more > 0; more -= 1) {
      const near = { ...drawOperation(random, isLossless), a: deed.a, b: deed.b };
      steps.push({ atMs: Math.min(activeMs, atMs + random.pick([0, 1, 20, 250, 900])), deed: near });
    }
  }
  for (const draw of troubles) {
    for (let times = random.int(1, 3); times > 0; times -= 1) {
      steps.push({ atMs: random.int(12_000, activeMs), deed: draw(random) });
    }
  }
  const scenes = random.pick([0, 0, 1, 2]);
  for (let i = 0; i < scenes; i += 1) {
    const scene = random.pick(CLUSTER_SCENES);
    const deed = {
      do: 'scene',
      scene,
      a: random.int(0, 1_000_000),
      b: random.int(0, 8),
      c: random.int(0, 1_000),
    } as const;
    steps.push({ atMs: random.int(10_000, activeMs), deed });
  }
  return {
    seed,
    startMs: START_MS + seed * 1_000,
    products: random.int(2, 8),
    machines,
    readLatencyMs: random.pick([20, 100, 600]),
    retentionMs: random.pick([DAY_MS, DAY_MS, 30_000, 90_000]),
    activeMs,
    steps: steps.toSorted((one, other) => one.atMs - other.atMs),
  };
}

function drawMachines(random: Random): MachinePlan[] {
  const skewMs = random.pick([0, 250, 3_000, 30_000]);
  const wallOffsetMs = (): number => random.int(-skewMs, skewMs);
  if (random.chance(0.3)) {
    const all: readonly Role[] = ['receive', 'replica', 'lead'];
    return ['one', 'two', 'three'].map((name) => ({ name, roles: all, wallOffsetMs: wallOffsetMs() }));
  }
  const receivers = Array.from({ length: random.int(1, 3) }, (_, i): MachinePlan => ({
    name: `receiver-${i + 1}`,
    roles: ['receive'],
    wallOffsetMs: wallOffsetMs(),
  }));
  const replicas = Array.from({ length: random.int(2, 3) }, (_, i): MachinePlan => ({
    name: `replica-${i + 1}`,
    // A later one may only follow.
    roles: i === 2 && random.chance(0.3) ? ['replica'] : ['replica', 'lead'],
    wallOffsetMs: wallOffsetMs(),
  }));
  return [...receivers, ...replicas];
}

type Draw = (random: Random) => ClusterDeed;

/** Most runs have some of them, few have all. */
function drawTroubles(random: Random, machines: number): readonly Draw[] {
  const one = (r: Random): number => r.int(0, machines - 1);
  const some = (r: Random): number | null => (r.chance(0.3) ? null : one(r));
  const all: readonly (readonly [probability: number, draw: Draw])[] = [
    [
      0.4,
      (r) => ({
        do: 'stale_reads',
        probability: r.pick([0.5, 1]),
        ageMs: r.int(200, 1_900),
        forMs: r.int(2_000, 40_000),
      }),
    ],
    [0.5, (r) => ({ do: 'kill', machine: one(r), downMs: drawDown(r) })],
    [0.2, (r) => ({ do: 'stop', machine: one(r), downMs: drawDown(r) })],
    [0.3, (r) => ({ do: 'power_cut', machine: one(r), downMs: drawDown(r) })],
    [0.15, (r) => ({ do: 'lose_mirror', machine: one(r), downMs: drawDown(r) })],
    [0.2, (r) => ({ do: 'stand_still', machine: one(r), forMs: r.int(500, 25_000) })],
    [0.3, (r) => ({ do: 'stand_still_lead', forMs: r.int(5_000, 25_000) })],
    [0.4, (r) => ({ do: 'cut', machine: some(r), forMs: r.pick([r.int(100, 4_000), r.int(4_000, 30_000)]) })],
    [
      0.5,
      (r) => ({
        do: 'bad_way',
        machine: some(r),
        lossShare: r.pick([0, 0.05, 0.3]),
        wayMs: r.pick([5, 80, 600]),
        forMs: r.int(2_000, 40_000),
      }),
    ],
    [
      0.2,
      (r) => ({ do: 'slow_disk', machine: one(r), commitMs: r.pick([20, 200]), forMs: r.int(500, 8_000) }),
    ],
    [0.2, (r) => ({ do: 'clock', machine: one(r), byMs: r.pick([-1, 1]) * r.pick([300, 4_000, 30_000]) })],
    [0.25, (r) => ({ do: 'lose_tail', count: r.pick([1, 3, 10, 60]) })],
    [0.1, () => ({ do: 'empty_engine' })],
    [0.3, (r) => ({ do: 'prune', machine: one(r) })],
    [0.15, (r) => ({ do: 'resync', machine: one(r) })],
  ];
  return all.filter(([probability]) => random.chance(probability)).map(([, draw]) => draw);
}

function drawDown(random: Random): number {
  return random.pick([1, random.int(1, 4_000), random.int(4_000, 30_000)]);
}

function drawOperation(random: Random, isLossless: boolean): Extract<ClusterDeed, { do: 'operation' }> {
  const what: Operation = random.chance(0.04)
    ? random.pick(['create_product', 'create_variant', 'delete_variant', 'delete_product', 'rename'])
    : random.pick(['adjust', 'adjust', 'add', 'add', 'add', 'order', 'cancel', 'ship', 'flip', 'burst']);
  return {
    do: 'operation',
    what,
    a: random.chance(0.7) ? random.int(0, 5) : random.int(0, 1_000_000),
    b: random.int(0, 8),
    c: random.int(0, 1_000_000),
    fate: {
      lost: !isLossless && random.chance(0.04),
      delayMs: random.chance(0.1) ? random.pick([random.int(1, 400), random.int(400, 20_000)]) : 0,
      againMs: random.chance(0.08) ? random.pick([random.int(1, 3_000), random.int(100_000, 160_000)]) : null,
      mangling: 'none',
    },
  };
}
