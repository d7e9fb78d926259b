/** Draws a story from its seed. */
import { createRandom, type Random } from '../../src/sandbox/world/random.ts';
import {
  drawDeed,
  drawOperation,
  drawWeather,
  QUIET_MS,
  quietTroubles,
  streamTroubles,
  type Length,
  type Weather,
} from './draw-deeds.ts';
import { drawInFront, drawWayInStory } from './draw-way-in.ts';
import { drawSocketRoom, lifeTroubles } from './life-plan.ts';
import {
  SCENE_NAMES,
  SCENES,
  type Action,
  type Kind,
  type Plan,
  type ReadFault,
  type Scene,
  type Step,
} from './plan.ts';

const MINUTE_MS = 60_000;

export function drawPlan(seed: number, kind: Kind = 'history'): Plan {
  if (kind === 'history' || (kind === 'stream' && seed % 2 === 1)) return drawHistory(seed, kind);
  const plan = drawLives(seed, kind);
  if (kind === 'stream') return plan;
  const story = drawWayInStory(seed);
  return story === null ? plan : { ...plan, ...story, steps: inOrder(story.steps) };
}

function inOrder(steps: readonly Step[]): Step[] {
  return steps.toSorted((one, other) => one.atMs - other.atMs);
}

function drawLives(seed: number, kind: 'lives' | 'stream'): Plan {
  const random = createRandom(seed, 'lives');
  const weather: Weather = {
    loss: random.pick([0, 0, 0.02, 0.1]),
    delay: random.pick([0, 0.1]),
    again: random.pick([0, 0.05]),
    mangle: 0,
    bursts: 0,
    structure: random.pick([0, 0.03]),
    troubleShare: 1,
    troubles: [
      ...(kind === 'lives' ? lifeTroubles(random) : streamTroubles(random)),
      ...quietTroubles(random),
    ],
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
    kind,
    socketRoom: kind === 'lives' ? drawSocketRoom(random) : null,
    isSplit: kind === 'lives' && random.chance(0.5),
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
    activeMs: atMs,
    isCalm: false,
    isStoreTrue: true,
    steps: inOrder([...steps, ...drawFlood(seed, atMs), ...drawInFront(seed, kind, atMs)]),
  };
}

/** One webhook with more unknown variants than the feed lists, in a few stories. */
function drawFlood(seed: number, activeMs: number): Step[] {
  const random = createRandom(seed, 'flood');
  if (!random.chance(0.04)) return [];
  const action: Action = { do: 'unknown_variants', count: random.int(2_001, 2_500) };
  return [{ atMs: random.int(0, activeMs), action }];
}

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
  steps.push(...scenes, ...drawFlood(seed, activeMs), ...drawInFront(seed, kind, activeMs));
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
    activeMs,
    isCalm: false,
    isStoreTrue: false,
    steps: steps.filter(
      ({ action }) =>
        !(leavesOutWarehouses && isUnlisted(action)) &&
        !((isDateAlone || isPlain) && setsClock(action)) &&
        !(isPlain && hides(action)),
    ),
  };
}

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
