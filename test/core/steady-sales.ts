/**
 * A product that sells steadily while all its webhooks arrive: how often it is read, and for what share of the time its
 * quantities are suspect. Reads that are asked for are sent when they are due, scheduled ones at fixed times.
 */
import type { VariantKind } from '../../src/core/model.ts';
import { present } from '../shared/present.ts';
import { change, Mirror, PRODUCT, productSnapshot, T0, VARIANT, variantSnapshot } from './builders.ts';

export interface Sales {
  readonly kind: VariantKind;
  /** Warehouses that sell alike. */
  readonly levels: number;
  /** Mean time between two sales of one level. */
  readonly everyMs: number;
  /** Sales come at random, or each exactly after that time. */
  readonly isRandom: boolean;
  readonly forMs: number;
  /** From a change to its arrival. */
  readonly delayMs: number;
  /** From the request of a read to its answer. */
  readonly latencyMs: number;
  /** The longest that a replica is behind. */
  readonly lagMs: number;
  /** null: no scheduled reads. */
  readonly scheduledEveryMs: number | null;
  readonly seed: number;
}

interface Cost {
  /** Those that the product's own changes asked for. */
  readonly readsAsked: number;
  /** Of the levels, or of the total if reads show no levels. */
  readonly suspectShare: number;
  /** From the end of the sales until nothing is suspect; null if something stays so. */
  readonly settledAfterMs: number | null;
}

interface Step {
  readonly atMs: number;
  readonly act: () => void;
}

const START = 1_000_000;
const LAST: Step = { atMs: Infinity, act: () => undefined };
const MOST_READS_AFTER = 10;

export function sell(sales: Sales): Cost {
  const { kind, levels, forMs, delayMs, latencyMs, lagMs } = sales;
  const random = randomOf(sales.seed);
  const mirror = new Mirror();
  const isListed = kind === 'own' || kind === 'assembled';
  const sold = Array.from({ length: levels }, () => timesOf(sales, random));
  const qtyAt = (level: number, atMs: number): number => START - countUpTo(present(sold[level]), atMs);
  const snapshotAt = (atMs: number) => {
    const quantities = sold.map((_, level) => qtyAt(level, atMs));
    const availableQty = quantities.reduce((sum, qty) => sum + qty, 0);
    const byWarehouse = Object.fromEntries(quantities.map((qty, level) => [String(level), qty]));
    return productSnapshot([variantSnapshot(isListed ? byWarehouse : null, { kind, availableQty })]);
  };
  const steps: Step[] = [];
  for (const [level, times] of sold.entries()) {
    for (const [n, soldAtMs] of times.entries()) {
      const item = change({
        warehouseId: String(level),
        old: START - n,
        new: START - n - 1,
        updateTimeMs: T0 + soldAtMs,
      });
      steps.push({ atMs: soldAtMs + delayMs, act: () => mirror.deliver(T0 + soldAtMs + delayMs, item) });
    }
  }
  const answers: Step[] = [];
  let readsAsked = 0;
  const send = (sentMs: number): void => {
    const atMs = sentMs + latencyMs;
    const answer = snapshotAt(sentMs - lagMs * random() + latencyMs * random());
    const act = (): void => void mirror.read(answer, { sentAtMs: T0 + sentMs, receivedAtMs: T0 + atMs });
    answers.push({ atMs, act });
  };
  if (sales.scheduledEveryMs !== null) {
    for (let atMs = sales.scheduledEveryMs; atMs < forMs; atMs += sales.scheduledEveryMs) {
      steps.push({ atMs, act: () => send(atMs) });
    }
  }
  steps.sort((a, b) => a.atMs - b.atMs);
  mirror.read(snapshotAt(-60_000), { sentAtMs: T0 - 60_000 });
  // Without listed warehouses, the first change of each is new.
  if (!isListed) mirror.tables.readRequests.clear();

  let nowMs = 0;
  let suspectMs = 0;
  const passUntil = (atMs: number): void => {
    if (nowMs < forMs) suspectMs += suspectShare(mirror, levels, isListed) * (Math.min(atMs, forMs) - nowMs);
    nowMs = atMs;
  };
  let done = 0;
  for (let readsAfter = 0; readsAfter < MOST_READS_AFTER;) {
    const [answer = LAST] = answers;
    const step = steps[done] ?? LAST;
    const next = step.atMs <= answer.atMs ? step : answer;
    const dueMs = answers.length > 0 ? Infinity : Math.max(nowMs, dueAtMs(mirror) - T0);
    if (Math.min(dueMs, next.atMs) === Infinity) {
      passUntil(Math.max(nowMs, forMs));
      return { readsAsked, suspectShare: suspectMs / forMs, settledAfterMs: Math.max(0, nowMs - forMs) };
    }
    if (dueMs < next.atMs) {
      passUntil(dueMs);
      if (nowMs > forMs) readsAfter += 1;
      else readsAsked += 1;
      send(dueMs);
      continue;
    }
    if (next === step) done += 1;
    else answers.shift();
    passUntil(next.atMs);
    next.act();
  }
  return { readsAsked, suspectShare: suspectMs / forMs, settledAfterMs: null };
}

/** The same numbers each time (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function timesOf({ everyMs, isRandom, forMs, delayMs }: Sales, random: () => number): number[] {
  const times: number[] = [];
  for (let atMs = everyMs * random(); atMs < forMs - delayMs;) {
    times.push(Math.floor(atMs));
    atMs += isRandom ? Math.max(2, -everyMs * Math.log(1 - random())) : everyMs;
  }
  return times;
}

function countUpTo(times: readonly number[], atMs: number): number {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (present(times[middle]) <= atMs) low = middle + 1;
    else high = middle;
  }
  return low;
}

function dueAtMs({ tables }: Mirror): number {
  const requested = tables.readRequest(PRODUCT)?.notBeforeMs ?? Infinity;
  return Math.min(requested, ...tables.gapsOf(VARIANT).map((gap) => gap.dueAtMs));
}

function suspectShare({ tables }: Mirror, levels: number, isListed: boolean): number {
  if (tables.readRequest(PRODUCT)?.isSuspect === true) return 1;
  const open = new Set(tables.gapsOf(VARIANT).map(({ warehouseId }) => warehouseId)).size;
  return isListed ? open / levels : Math.min(1, open);
}
