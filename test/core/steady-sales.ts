/**
 * A variant that sells steadily while all its webhooks arrive: how often it is read, and for what share of the time it
 * is suspect. Requested reads are sent when they are due; others, such as scheduled ones, at fixed times.
 */
import type { ProductSnapshot } from '../../src/core/input.ts';
import type { VariantKind } from '../../src/core/model.ts';
import { change, Mirror, PRODUCT, productSnapshot, T0, VARIANT, variantSnapshot } from './builders.ts';

export interface Sales {
  readonly kind: VariantKind;
  readonly everyMs: number;
  readonly forMs: number;
  /** From a change to its arrival. */
  readonly delayMs: number;
  /** From the request of a read to its answer, which shows the instant in the middle. */
  readonly latencyMs: number;
  /** From the first sale. */
  readonly scheduledAtMs: readonly number[];
}

interface Cost {
  readonly readsPerHour: number;
  readonly suspectShare: number;
}

interface Step {
  readonly atMs: number;
  readonly act: () => void;
}

const START = 1_000_000;
const END: Step = { atMs: Infinity, act: () => undefined };

export function sell(sales: Sales): Cost {
  const { everyMs, forMs, delayMs, latencyMs } = sales;
  const mirror = new Mirror();
  const steps: Step[] = [];
  const qtyAt = (atMs: number): number => START - Math.max(0, Math.floor(atMs / everyMs));
  const answerAt = (atMs: number): ProductSnapshot => {
    const { kind } = sales;
    const availableQty = qtyAt(atMs);
    const isListed = kind === 'own' || kind === 'assembled';
    return productSnapshot([variantSnapshot(isListed ? { 1: availableQty } : null, { kind, availableQty })]);
  };
  let reads = 0;
  let underWay = 0;
  const send = (sentMs: number): void => {
    underWay += 1;
    const answer = answerAt(sentMs + latencyMs / 2);
    const atMs = sentMs + latencyMs;
    const act = (): void => {
      underWay -= 1;
      reads += 1;
      mirror.read(answer, { sentAtMs: T0 + sentMs, receivedAtMs: T0 + atMs });
    };
    steps.push({ atMs, act });
  };
  for (let n = 1; n * everyMs <= forMs; n += 1) {
    const at = { old: START - n + 1, new: START - n, updateTimeMs: T0 + n * everyMs };
    const atMs = n * everyMs + delayMs;
    steps.push({ atMs, act: () => mirror.deliver(T0 + atMs, change(at)) });
  }
  for (const atMs of sales.scheduledAtMs) steps.push({ atMs, act: () => send(atMs) });
  mirror.read(answerAt(-60_000), { sentAtMs: T0 - 60_000 });
  reads = 0;

  let nowMs = 0;
  let suspectMs = 0;
  const passUntil = (atMs: number): void => {
    if (isSuspect(mirror)) suspectMs += atMs - nowMs;
    nowMs = atMs;
  };
  for (;;) {
    steps.sort((a, b) => a.atMs - b.atMs);
    const dueMs = underWay > 0 ? Infinity : Math.max(nowMs, dueAtMs(mirror) - T0);
    const [next = END] = steps;
    if (Math.min(dueMs, next.atMs) > forMs) break;
    if (dueMs < next.atMs) {
      passUntil(dueMs);
      send(dueMs);
      continue;
    }
    steps.shift();
    passUntil(next.atMs);
    next.act();
  }
  passUntil(forMs);
  return { readsPerHour: (reads * 3_600_000) / forMs, suspectShare: suspectMs / forMs };
}

function dueAtMs({ tables }: Mirror): number {
  const requested = tables.readRequest(PRODUCT)?.notBeforeMs ?? Infinity;
  return Math.min(requested, ...tables.gapsOf(VARIANT).map((gap) => gap.dueAtMs));
}

function isSuspect({ tables }: Mirror): boolean {
  return tables.readRequest(PRODUCT)?.isSuspect === true || tables.gapsOf(VARIANT).length > 0;
}
