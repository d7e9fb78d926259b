/** Lets a store, a mirror and a policy run beside each other in virtual time, and measures how long levels are wrong. */
import { seeded } from './random.ts';
import { Events } from './events.ts';
import type { Change, Mirror, Proof } from './mirror.ts';
import type { Known, Policy } from './policy.ts';
import { drawerOf, ITEMS_A_DELIVERY, itemsOf, lossesOf, ratesOf, timesAt, type StorePlan } from './store.ts';

const HOUR_MS = 60 * 60_000;
/** A whole second, well after what a mirror knows from the hours before. */
const BEGIN_MS = 1_700_000_000_000;
const DELAY_MS = { least: 50, most: 250 };
const READ_MS = 50;
/** SERVICE_MAX_RPS. */
const READS_A_SECOND = 50;
const AFTER_DOWNTIME_MS = 2_000;

/** Everything that a policy may be built from. */
export interface Setting {
  readonly plan: StorePlan;
  readonly rates: Float64Array;
  readonly known: Known;
  readonly random: () => number;
  readonly startMs: number;
}

export interface Scenario {
  readonly plan: StorePlan;
  readonly warmHours: number;
  readonly hours: number;
  readonly mirror: (products: number, atMs: number) => Mirror;
  readonly policy: (setting: Setting) => Policy;
}

export interface Measured {
  readonly policy: string;
  readonly readsPerHour: number;
  /** Of them, asked for by rules. */
  readonly ruledPerHour: number;
  readonly wrongPerHour: number;
  readonly medianMs: number;
  readonly p90Ms: number;
  readonly deliveriesPerHour: number;
  readonly lostPerHour: number;
  /** Processor time of choosing, for each read. */
  readonly chooseUs: number;
}

type Happening =
  | { readonly kind: 'sell' }
  | { readonly kind: 'deliver'; readonly changes: readonly Change[] }
  | { readonly kind: 'send'; readonly product: number }
  | { readonly kind: 'sample'; readonly product: number; readonly s0: number; readonly sentAtMs: number }
  | {
      readonly kind: 'answer';
      readonly product: number;
      readonly qty: number;
      readonly s0: number;
      readonly sentAtMs: number;
    }
  | { readonly kind: 'second' };

export function run({ plan, warmHours, hours, mirror: mirrorOf, policy: policyOf }: Scenario): Measured {
  const { products, seed } = plan;
  const rates = ratesOf(plan, seeded(seed));
  const startMs = BEGIN_MS;
  const known: Known = {
    changedAtMs: new Float64Array(products),
    readAtMs: new Float64Array(products).fill(startMs - 60_000),
  };
  // The world is the same for every policy.
  const random = seeded(seed + 1);
  const draw = drawerOf(rates, random);
  const isLost = lossesOf(plan, seeded(seed + 2));
  const mirror = mirrorOf(products, startMs);
  const policy = policyOf({ plan, rates, known, random: seeded(seed + 3), startMs });
  const wrong = new WrongTime(products);
  const truth = new Float64Array(products);
  const events = new Events<Happening>();
  const measureFromMs = startMs + warmHours * HOUR_MS;
  const endMs = measureFromMs + hours * HOUR_MS;
  const down = { fromMs: measureFromMs + HOUR_MS, untilMs: measureFromMs + HOUR_MS + plan.downtimeMs };
  const isDown = (atMs: number): boolean => atMs >= down.fromMs && atMs < down.untilMs;
  const underWay = new Set<number>();
  let afterDown: number[] | null = plan.downtimeMs > 0 ? [] : null;
  const counts = { reads: 0, ruled: 0, deliveries: 0, lost: 0 };
  let nowMs = startMs;
  const isMeasured = (): boolean => nowMs >= measureFromMs;

  const apply = (product: number, proofs: readonly Proof[], certainAtMs: number): void => {
    wrong.set(product, mirror.qty(product) === truth[product] ? 'right' : 'wrong', nowMs);
    for (const { by, openedAtMs } of proofs) {
      const sinceMs = by === 'read' ? certainAtMs : (gapSince.get(product) ?? openedAtMs);
      policy.proved({ product, sinceMs, openedAtMs, by }, nowMs);
      gapSince.delete(product);
    }
  };
  /** Since when a level with a gap was certain before. */
  const gapSince = new Map<number, number>();
  const certainOf = (product: number): number =>
    Math.max(known.changedAtMs[product] ?? 0, known.readAtMs[product] ?? 0);

  const sell = (): void => {
    const times = timesAt(plan, nowMs - measureFromMs);
    const perMs = (plan.changesPerSecond * times) / ITEMS_A_DELIVERY / 1_000;
    // Never over the end of an hour, where the weather may change.
    const waitMs = -Math.log(1 - random()) / perMs;
    const hourEndsMs = (Math.floor((nowMs - startMs) / HOUR_MS) + 1) * HOUR_MS + startMs;
    const hasSold = nowMs + waitMs < hourEndsMs;
    events.at(hasSold ? nowMs + waitMs : hourEndsMs, { kind: 'sell' });
  };
  const deliver = (): void => {
    const changes: Change[] = [];
    for (let items = itemsOf(random); items > 0; items--) {
      const product = draw();
      const old = truth[product] ?? 0;
      truth[product] = old + 1;
      changes.push({ product, old, new: old + 1, atMs: Math.floor(nowMs) });
    }
    const lost = isLost(nowMs);
    if (isMeasured()) counts.deliveries += 1;
    if (isMeasured() && lost) counts.lost += 1;
    for (const { product } of changes) {
      wrong.set(product, 'wrong', nowMs);
      if (lost || isDown(nowMs)) {
        wrong.lost(product, nowMs);
        policy.lost?.(product, nowMs);
      }
    }
    const delayMs = DELAY_MS.least + random() * (DELAY_MS.most - DELAY_MS.least);
    if (!lost && !isDown(nowMs)) events.at(nowMs + delayMs, { kind: 'deliver', changes });
  };
  const second = (): void => {
    events.at(nowMs + 1_000, { kind: 'second' });
    if (isDown(nowMs)) return;
    if (afterDown?.length === 0 && nowMs >= down.untilMs + AFTER_DOWNTIME_MS && down.untilMs > down.fromMs) {
      afterDown = recentLast(known, down.untilMs);
    }
    const wanted = mirror.due(nowMs).filter((product) => !underWay.has(product));
    const reads = wanted.slice(0, READS_A_SECOND);
    const after = afterDown ?? [];
    while (reads.length < READS_A_SECOND && after.length > 0) {
      const product = after.pop();
      if (product === undefined) break;
      if ((known.readAtMs[product] ?? 0) < down.untilMs && !underWay.has(product)) reads.push(product);
      if (after.length === 0) afterDown = null;
    }
    const ruled = reads.length;
    const free = READS_A_SECOND - ruled;
    for (const product of policy.take(nowMs, free, ruled)) {
      if (!underWay.has(product) && reads.length < READS_A_SECOND && !reads.includes(product))
        reads.push(product);
    }
    reads.forEach((product, i) => {
      underWay.add(product);
      events.at(nowMs + (i * 1_000) / READS_A_SECOND, { kind: 'send', product });
    });
    if (!isMeasured()) return;
    counts.reads += reads.length;
    counts.ruled += ruled;
  };

  events.at(startMs, { kind: 'second' });
  let isFirstSell = true;
  events.at(startMs, { kind: 'sell' });
  let measuring = false;
  for (let event = events.next(); event !== undefined && event.atMs < endMs; event = events.next()) {
    nowMs = event.atMs;
    if (!measuring && isMeasured()) {
      measuring = true;
      wrong.begin(measureFromMs);
    }
    const { what } = event;
    switch (what.kind) {
      case 'sell': {
        const isHour = (nowMs - startMs) % HOUR_MS === 0;
        if (!isFirstSell && !isHour) deliver();
        isFirstSell = false;
        sell();
        break;
      }
      case 'deliver': {
        if (isDown(nowMs)) break;
        const atMs = Math.floor(nowMs);
        const before = what.changes.map(({ product, old }) => mirror.qty(product) !== old);
        const proofs = mirror.deliver(what.changes, atMs);
        what.changes.forEach(({ product }, i) => {
          if (before[i] === true && !gapSince.has(product)) gapSince.set(product, certainOf(product));
          apply(
            product,
            proofs.filter((proof) => proof.product === product),
            certainOf(product),
          );
          known.changedAtMs[product] = atMs;
          policy.changed(product, atMs);
        });
        break;
      }
      case 'send':
        events.at(nowMs + READ_MS / 2, {
          kind: 'sample',
          product: what.product,
          s0: mirror.seq,
          sentAtMs: Math.floor(nowMs),
        });
        break;
      case 'sample':
        events.at(nowMs + READ_MS / 2, { ...what, kind: 'answer', qty: truth[what.product] ?? 0 });
        break;
      case 'answer': {
        const { product, sentAtMs } = what;
        const certainAtMs = certainOf(product);
        apply(product, mirror.answer({ ...what, atMs: Math.floor(nowMs) }), certainAtMs);
        underWay.delete(product);
        known.readAtMs[product] = Math.max(known.readAtMs[product] ?? 0, sentAtMs);
        policy.wasRead(product, sentAtMs, nowMs);
        break;
      }
      case 'second':
        second();
        break;
    }
  }
  const { wrongMs, repairs } = wrong.end(endMs);
  const { reads, ruled, deliveries, lost } = counts;
  const spent = policy.spent ?? { ms: 0, reads: 0 };
  return {
    policy: policy.name,
    readsPerHour: reads / hours,
    ruledPerHour: ruled / hours,
    wrongPerHour: wrongMs / 1_000 / hours,
    medianMs: quantile(repairs, 0.5),
    p90Ms: quantile(repairs, 0.9),
    deliveriesPerHour: deliveries / hours,
    lostPerHour: lost / hours,
    chooseUs: (spent.ms * 1_000) / Math.max(1, spent.reads),
  };
}

/** Which products must be read after a downtime, the last to be read first. */
function recentLast({ changedAtMs, readAtMs }: Known, untilMs: number): number[] {
  return Array.from(changedAtMs, (_, product) => product)
    .filter((product) => (readAtMs[product] ?? 0) < untilMs)
    .sort((a, b) => (changedAtMs[a] ?? 0) - (changedAtMs[b] ?? 0));
}

function quantile(sorted: readonly number[], q: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? 0;
}

/** How long levels are wrong, and how long each lost change left its level so. */
class WrongTime {
  readonly #since: Float64Array;
  /** Of lost changes that are not made up for, by product. */
  readonly #lost = new Map<number, number[]>();
  #repairs: number[] = [];
  #wrongMs = 0;
  #fromMs = Infinity;

  constructor(products: number) {
    this.#since = new Float64Array(products);
  }

  begin(atMs: number): void {
    this.#fromMs = atMs;
    this.#repairs = [];
  }

  lost(product: number, atMs: number): void {
    this.#lost.set(product, [...(this.#lost.get(product) ?? []), atMs]);
  }

  set(product: number, levels: 'wrong' | 'right', atMs: number): void {
    const isWrong = levels === 'wrong';
    const sinceMs = this.#since[product] ?? 0;
    if (isWrong === sinceMs > 0) return;
    this.#since[product] = isWrong ? atMs : 0;
    if (isWrong) return;
    this.#wrongMs += Math.max(0, atMs - Math.max(sinceMs, this.#fromMs));
    const lost = this.#lost.get(product);
    if (lost === undefined) return;
    for (const lostAtMs of lost) this.#repairs.push(atMs - lostAtMs);
    this.#lost.delete(product);
  }

  end(atMs: number): { readonly wrongMs: number; readonly repairs: readonly number[] } {
    for (const sinceMs of this.#since) {
      if (sinceMs > 0) this.#wrongMs += atMs - Math.max(sinceMs, this.#fromMs);
    }
    // What is still wrong counts as long as it has been so: it is not forgotten because the bench ends.
    for (const lost of this.#lost.values()) for (const lostAtMs of lost) this.#repairs.push(atMs - lostAtMs);
    return { wrongMs: this.#wrongMs, repairs: this.#repairs.sort((a, b) => a - b) };
  }
}
