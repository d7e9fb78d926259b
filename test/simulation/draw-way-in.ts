/** Draws stories of the way in, and adds its troubles to the stories of others. */
import { createRandom, type Random } from '../../src/sandbox/world/random.ts';
import { drawOperation, QUIET_MS, type Weather } from './draw-deeds.ts';
import { drawLife } from './life-plan.ts';
import type { Action, Kind, Step } from './plan.ts';
import { drawOutage, drawStrangers } from './way-in-plan.ts';

const MINUTE_MS = 60_000;

/** How often another story has strangers, outages and tests. */
const SHARES: Record<Kind, { readonly strangers: number; readonly outage: number }> = {
  history: { strangers: 0.3, outage: 0.2 },
  lives: { strangers: 0.15, outage: 0.1 },
  stream: { strangers: 0.3, outage: 0.3 },
};

export function drawInFront(seed: number, kind: Kind, activeMs: number): Step[] {
  const random = createRandom(seed, 'in front');
  const { strangers, outage } = SHARES[kind];
  const some = (share: number, draw: () => Action): Step[] => {
    const count = random.chance(share) ? random.int(1, 2) : 0;
    return Array.from({ length: count }, () => ({ atMs: random.int(0, activeMs), action: draw() }));
  };
  return [
    ...some(strangers, () => drawStrangers(random)),
    ...some(outage, () => drawOutage(random, kind !== 'stream')),
    ...some(outage / 2, () => ({ do: 'send_test' })),
  ];
}

interface WayInStory {
  readonly steps: readonly Step[];
  readonly activeMs: number;
  readonly isCalm: boolean;
}

const WEATHER: Weather = {
  loss: 0,
  delay: 0,
  again: 0,
  mangle: 0,
  bursts: 0,
  structure: 0.02,
  troubleShare: 0,
  troubles: [],
};

/** @returns null in most cases: then the seed tells of life cycles. */
export function drawWayInStory(seed: number): WayInStory | null {
  const random = createRandom(seed, 'way in');
  if (!random.chance(0.35)) return null;
  const story = new Telling(random, random.int(15_000, 40_000));
  const theme = random.next();
  if (theme < 0.15) return story.ofStrangers();
  if (theme < 0.35) return story.ofANight();
  return story.ofOutages();
}

class Telling {
  readonly #random: Random;
  readonly #steps: Step[] = [];
  #atMs: number;

  /** @param beginMs everything has been read by then. */
  constructor(random: Random, beginMs: number) {
    this.#random = random;
    this.#atMs = beginMs;
  }

  ofStrangers(): WayInStory {
    const random = this.#random;
    const forMs = random.int(2, 6) * MINUTE_MS;
    for (let n = 0; n < 3; n += 1) this.#add(random.int(0, forMs), drawStrangers(random));
    this.#operate(forMs, random.pick([0.05, 0.5]), { ...WEATHER, structure: 0 });
    return this.#end(true);
  }

  /** Random losses during the day, and then no sales for a while. */
  ofANight(): WayInStory {
    const random = this.#random;
    this.#operate(random.int(30_000, 90_000), 2, { ...WEATHER, loss: random.pick([0.01, 0.05]) });
    const nightMs = random.pick([2, 10, 40]) * MINUTE_MS;
    if (random.chance(0.5)) this.#add(random.int(0, nightMs), drawStrangers(random));
    this.#atMs += nightMs;
    this.#operate(random.int(1_000, 20_000), 0.2, WEATHER);
    return this.#end(false);
  }

  ofOutages(): WayInStory {
    const rounds = this.#random.int(1, 3);
    for (let round = 0; round < rounds; round += 1) this.#outage();
    return this.#end(false);
  }

  #outage(): void {
    const random = this.#random;
    this.#operate(random.int(5_000, 40_000), 1, WEATHER);
    const outage = drawOutage(random, true);
    const { forMs } = outage;
    this.#add(0, outage);
    if (random.chance(0.3)) this.#add(random.int(0, forMs), drawStrangers(random));
    if (random.chance(0.3)) this.#add(random.int(0, forMs), { do: 'send_test' });
    if (random.chance(0.3)) this.#add(random.int(0, forMs), drawLife(random, null));
    this.#operate(forMs, random.pick([0.1, 0.5, 2]), WEATHER);
    this.#atMs += random.pick([0, random.int(0, 5_000), random.int(5_000, MINUTE_MS)]);
    // Few webhooks, so that they do not show what is missing, and quiet after them.
    this.#operate(random.int(100, 3_000), 1, WEATHER);
    this.#atMs += QUIET_MS;
  }

  #operate(forMs: number, perSecond: number, weather: Weather): void {
    const count = Math.ceil((forMs / 1_000) * perSecond);
    for (let n = 0; n < count; n += 1)
      this.#add(this.#random.int(0, forMs), drawOperation(this.#random, weather, 'short'));
    this.#atMs += forMs;
  }

  #add(inMs: number, action: Action): void {
    this.#steps.push({ atMs: this.#atMs + inMs, action });
  }

  #end(isCalm: boolean): WayInStory {
    return { steps: this.#steps, activeMs: this.#atMs, isCalm };
  }
}
