/**
 * What VERIFY_WITHIN_HOURS costs and saves: a model of products with one level each, whose webhooks are lost at random
 * (docs/performance.md#scheduled-reads). Reads are planned by the program's own rule; answers and gaps take no time.
 *
 * node scripts/verification-model.ts            what each bound costs and saves
 * node scripts/verification-model.ts --losses   how long a lost last webhook stays wrong and trusted, by loss rate
 */
import { parseArgs } from 'node:util';
import {
  pauseAfterLossMs,
  planTick,
  TIMES_AFTER_LOSS,
  type VerificationBound,
} from '../src/reconcile/verification.ts';

const PRODUCTS = 10_000;
const CHANGES_PER_SECOND = 2;
const DAY_SECONDS = 24 * 3_600;
/** Values of the first hours depend on the start. */
const WARM_UP_SECONDS = 16 * 3_600;
const TICK_SECONDS = 900;
const MAX_READS_PER_SECOND = 10;
const DUE_SHARE = 0.9;
const BURST_SECONDS = 60;

const HOURS = [1, 2, 6, 14];
const SHAPES = ['zipf', 'uniform'] as const;
const LOSSES = ['even', 'burst'] as const;
const LOST_SHARE = 0.01;
const LOST_SHARES = [0.001, 0.01, 0.05, 0.2];
/** The default of VERIFY_WITHIN_HOURS. */
const DEFAULT_HOURS = 2;

interface Outcome {
  readonly wrongLevelSeconds: number;
  readonly reads: number;
  readonly losses: number;
  /** How long each wrong level stayed so that a scheduled read found: no later webhook showed its loss. */
  readonly untracedSeconds: readonly number[];
}

interface Model {
  readonly hours: number;
  readonly shape: (typeof SHAPES)[number];
  readonly losses: (typeof LOSSES)[number];
  readonly lostShare: number;
}

/** Mulberry32: the same events for each bound. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

function chooserOf(shape: (typeof SHAPES)[number], random: () => number): () => number {
  if (shape === 'uniform') return () => Math.floor(random() * PRODUCTS);
  // The inverse of the continuous distribution 1/x.
  return () => Math.min(PRODUCTS - 1, Math.floor(PRODUCTS ** random()) - 1);
}

/** Products in the order of an instant that only grows. */
class Oldest {
  readonly #at = new Float64Array(PRODUCTS);
  /** An entry counts while its instant is the product's latest. */
  #queue = Array.from({ length: PRODUCTS }, (_, product) => ({ product, second: 0 }));
  #head = 0;

  touch(product: number, second: number): void {
    this.#at[product] = second;
    this.#queue.push({ product, second });
  }

  get first(): { readonly product: number; readonly second: number } {
    for (;;) {
      const entry = this.#queue[this.#head];
      if (entry === undefined) throw new Error('the queue is empty');
      if (this.#at[entry.product] === entry.second) return entry;
      this.#head += 1;
      if (this.#head === 100_000) {
        this.#queue = this.#queue.slice(this.#head);
        this.#head = 0;
      }
    }
  }

  countBefore(second: number): number {
    return this.#at.reduce((count, at) => count + (at < second ? 1 : 0), 0);
  }
}

function run({ hours, shape, losses, lostShare }: Model): Outcome {
  const bound: VerificationBound = { withinMs: hours * 3_600_000, maxReadsPerSecond: MAX_READS_PER_SECOND };
  const random = randomOf(7);
  const choose = chooserOf(shape, random);
  const evidence = new Oldest();
  const lastRead = new Oldest();
  const wrongSince = new Map<number, number>();
  const untracedSeconds: number[] = [];
  let wrongLevelSeconds = 0;
  let lost = 0;
  let reads = 0;
  let perTick = 0;
  let begun = 0;
  let atOnce = 0;
  let debt = 0;
  let nextAfterLoss = 0;
  let isLossOpen = false;
  let second = 0;

  const repair = (product: number): void => {
    const since = wrongSince.get(product);
    if (since === undefined) return;
    if (second >= WARM_UP_SECONDS) wrongLevelSeconds += second - Math.max(since, WARM_UP_SECONDS);
    wrongSince.delete(product);
  };
  const read = (product: number): void => {
    repair(product);
    evidence.touch(product, second);
    lastRead.touch(product, second);
    if (second >= WARM_UP_SECONDS) reads += 1;
  };
  const verify = (): void => {
    const overdue = lastRead.first;
    const isOverdue = overdue.second < second - DUE_SHARE * hours * 3_600;
    const product = isOverdue ? overdue.product : evidence.first.product;
    const since = wrongSince.get(product);
    if (since !== undefined && since >= WARM_UP_SECONDS) untracedSeconds.push(second - since);
    read(product);
  };

  const end = WARM_UP_SECONDS + DAY_SECONDS;
  for (; second < end; second += 1) {
    if (second % TICK_SECONDS === 0) {
      const overdueAtEnd = lastRead.countBefore(second + TICK_SECONDS - hours * 3_600);
      const plan = planTick(
        { products: PRODUCTS, overdueAtEnd, intervalMs: TICK_SECONDS * 1_000, debt },
        bound,
      );
      debt -= plan.paid;
      perTick = plan.reads;
      begun = 0;
    }
    // A burst loses as much in one minute of each 100 as even losses in all.
    const isBurst = Math.floor(second / BURST_SECONDS) % 100 === 50;
    const lostNow = losses === 'even' ? lostShare : isBurst ? 1 : 0;
    for (let n = 0; n < CHANGES_PER_SECOND; n += 1) {
      const product = choose();
      if (random() < lostNow) {
        if (second >= WARM_UP_SECONDS) lost += 1;
        if (!wrongSince.has(product)) wrongSince.set(product, second);
        continue;
      }
      // The chain shows what was lost before.
      if (wrongSince.has(product)) {
        isLossOpen = true;
        read(product);
      }
      evidence.touch(product, second);
    }
    if (isLossOpen && second >= nextAfterLoss) {
      const usual = planTick(
        { products: PRODUCTS, overdueAtEnd: 0, intervalMs: TICK_SECONDS * 1_000, debt: 0 },
        bound,
      );
      atOnce = Math.min(PRODUCTS, TIMES_AFTER_LOSS * usual.reads);
      debt = atOnce;
      nextAfterLoss = second + pauseAfterLossMs(atOnce, bound) / 1_000;
      isLossOpen = false;
    }
    for (let n = 0; n < 40 && atOnce > 0; n += 1, atOnce -= 1) verify();
    const due = Math.floor((perTick * ((second % TICK_SECONDS) + 1)) / TICK_SECONDS);
    for (; begun < due; begun += 1) verify();
  }
  for (const product of [...wrongSince.keys()]) repair(product);
  return { wrongLevelSeconds, reads, losses: lost, untracedSeconds };
}

const DAY_HOURS = DAY_SECONDS / 3_600;
const thousands = (value: number): string => Math.round(value / DAY_HOURS).toLocaleString('en');
const print = (...cells: readonly string[]): void => void process.stdout.write(`| ${cells.join(' | ')} |\n`);

function compareBounds(): void {
  print('products', 'lost', 'hours', 'wrong level-seconds an hour', 'reads an hour');
  print(...Array<string>(5).fill('---'));
  for (const shape of SHAPES) {
    for (const losses of LOSSES) {
      for (const hours of HOURS) {
        const { wrongLevelSeconds, reads } = run({ hours, shape, losses, lostShare: LOST_SHARE });
        print(shape, `1 %, ${losses}`, String(hours), thousands(wrongLevelSeconds), thousands(reads));
      }
    }
  }
}

function compareLossRates(): void {
  print('products', 'lost', 'losses an hour', 'of these without a trace', 'median', 'p99', 'longest');
  print(...Array<string>(7).fill('---'));
  for (const shape of SHAPES) {
    for (const lostShare of LOST_SHARES) {
      const { losses, untracedSeconds } = run({ hours: DEFAULT_HOURS, shape, losses: 'even', lostShare });
      const sorted = untracedSeconds.toSorted((a, b) => a - b);
      const minutes = (q: number): string => {
        const at = Math.min(sorted.length - 1, Math.floor(sorted.length * q));
        return `${((sorted[at] ?? NaN) / 60).toFixed(1)} min`;
      };
      print(
        shape,
        `${lostShare * 100} %`,
        thousands(losses),
        `${((100 * sorted.length) / losses).toFixed(0)} %`,
        minutes(0.5),
        minutes(0.99),
        minutes(1),
      );
    }
  }
}

const { losses } = parseArgs({ options: { losses: { type: 'boolean', default: false } } }).values;
if (losses) compareLossRates();
else compareBounds();
