/** A store with a true timeline, to compare the mirror with. Instants are true ms from 0. */
import type { LevelSnapshot, ProductSnapshot, StockChange, VariantSnapshot } from '../../src/core/input.ts';
import type { Fact } from '../../src/core/apply/fact.ts';
import { LATEST_MS, REPLICA_LAG_MS } from '../../src/core/limits.ts';
import { present } from '../shared/present.ts';
import { missedAt, Mirror, productSnapshot, variantSnapshot } from './builders.ts';

const OWN_MS = 1_700_000_000_000;

export interface StepPlan {
  readonly afterMs: number;
  /** 1 to 3, added modulo 4: few values, so that chains return to where they were. */
  readonly move: number;
  readonly skewMs: number;
  readonly aheadMs: number;
  readonly delayMs: number;
  readonly lost: boolean;
  readonly againMs: number | null;
  readonly batched: boolean;
  readonly thenRemoved: boolean;
  readonly fate: Fate;
}

/** What the mirror learns from the delivery: the change, or only the variant that it names. */
type Fate = 'understood' | 'not_stored' | 'not_understood';

export interface LevelPlan {
  readonly start: number;
  readonly isNew: boolean;
  readonly steps: readonly StepPlan[];
}

export interface ReadPlan {
  readonly atMs: number;
  readonly tookMs: number;
  /** 0..1: where between "a replica's lag before it was sent" and "when it was received" the answer was sampled. */
  readonly sampled: number;
  readonly dated: boolean;
  readonly dateSkewMs: number;
  /** From receipt to the log. */
  readonly queuedMs: number;
  readonly product: number;
}

export interface Plan {
  readonly offsetMs: number;
  readonly knownBefore: boolean;
  readonly reversedBatches: boolean;
  readonly levels: readonly LevelPlan[];
  readonly reads: readonly ReadPlan[];
  readonly drainSampled: number;
  /** `update_time` orders the changes of a stock level across nodes. */
  readonly orderedStamps: boolean;
  readonly productGoneAtMs: number;
  /** Kind of variants whose details omit warehouses; null for none. */
  readonly unlisted: { readonly kind: 'own' | 'pulled'; readonly untilMs: number } | null;
  readonly clockBack: { readonly atMs: number; readonly byMs: number } | null;
  readonly dateAheadMs: number;
  /** When the variant of `MOVING` moves to the second product; null for never. */
  readonly moveAtMs: number | null;
  /** When the bundle was made; null for none. */
  readonly bundleMadeAtMs: number | null;
  readonly stall: { readonly atMs: number; readonly forMs: number } | null;
  /** The store answers 404 to every read sent in this time, and its list is right. */
  readonly absence: { readonly atMs: number; readonly forMs: number } | null;
}

interface TrueChange {
  readonly trueAtMs: number;
  readonly item: StockChange;
  readonly lost: boolean;
  readonly thenRemoved: boolean;
}

interface TrueLevel {
  readonly productId: string;
  readonly variantId: string;
  readonly warehouseId: string;
  readonly start: number | null;
  readonly changes: readonly TrueChange[];
}

interface Delivery {
  atMs: number;
  changes: TrueChange[];
  fate: Fate;
}

interface Step {
  readonly atMs: number;
  readonly arrivedMs: number;
  readonly isRead: boolean;
  readonly act: () => void;
}

const PLACES = [
  { productId: '10', variantId: '100', warehouseId: '1' },
  { productId: '10', variantId: '100', warehouseId: '2' },
  { productId: '10', variantId: '101', warehouseId: '1' },
  { productId: '20', variantId: '200', warehouseId: '1' },
] as const;

const MOVING = '101';
const MOVES_TO = '20';
export const COMPONENT = { productId: '10', variantId: '100' } as const;
export const BUNDLE = { productId: '30', variantId: '300' } as const;

export type Watch = (service: SimulatedService, nowMs: number, facts: readonly Fact[]) => void;

export class SimulatedService {
  readonly mirror = new Mirror();
  readonly levels: readonly TrueLevel[];
  readonly deliveries: readonly Delivery[];
  readonly merged = new Set<TrueChange>();
  /** The mirror knows only that their variants may have changed. */
  readonly doubted = new Set<TrueChange>();
  /** By product: the latest true time that an answer, of those merged, has shown. */
  readonly shownMs = new Map<string, number>();
  nowMs = 0;
  readonly plan: Plan;
  private readonly watch: Watch;

  constructor(plan: Plan, watch: Watch = () => undefined) {
    this.plan = plan;
    this.watch = watch;
    const deliveries: Delivery[] = [];
    this.levels = plan.levels.map((level, i) =>
      layOut(level, present(PLACES[i % PLACES.length]), plan, deliveries),
    );
    this.deliveries = deliveries;
  }

  get productIds(): string[] {
    const productIds = this.levels.map((level) => level.productId);
    if (this.plan.moveAtMs !== null) productIds.push(MOVES_TO);
    if (this.plan.bundleMadeAtMs !== null) productIds.push(BUNDLE.productId);
    return [...new Set(productIds)];
  }

  productOf({ productId, variantId }: TrueLevel, trueMs: number): string {
    const { moveAtMs } = this.plan;
    return variantId === MOVING && moveAtMs !== null && trueMs >= moveAtMs ? MOVES_TO : productId;
  }

  bundleQtyAt(trueMs: number): number {
    const components = this.levels.filter(({ variantId }) => variantId === COMPONENT.variantId);
    return components.reduce((sum, level) => sum + (this.qtyAt(level, trueMs) ?? 0), 0);
  }

  /** @returns null when the stock level does not exist at that instant. */
  qtyAt(level: TrueLevel, trueMs: number): number | null {
    if (this.isGone(this.productOf(level, trueMs), trueMs)) return null;
    const last = level.changes.findLast((change) => change.trueAtMs <= trueMs);
    if (last === undefined) return level.start;
    return last.thenRemoved && last.trueAtMs < trueMs ? null : last.item.new;
  }

  private isGone(productId: string, trueMs: number): boolean {
    return productId === PLACES[0].productId && trueMs >= this.plan.productGoneAtMs;
  }

  /** @returns null for a 404. */
  snapshotAt(productId: string, trueMs: number): ProductSnapshot | null {
    if (this.isGone(productId, trueMs)) return null;
    const { bundleMadeAtMs } = this.plan;
    const hasBundle = bundleMadeAtMs !== null && trueMs >= bundleMadeAtMs;
    const variants: VariantSnapshot[] = [];
    if (productId === BUNDLE.productId) {
      if (!hasBundle) return null;
      const { variantId } = BUNDLE;
      const availableQty = this.bundleQtyAt(trueMs);
      const createTimeMs = OWN_MS + bundleMadeAtMs + clockMs(this.plan, bundleMadeAtMs);
      variants.push({ ...variantSnapshot(null), variantId, kind: 'bundle', createTimeMs, availableQty });
    }
    const own = this.levels.filter((level) => this.productOf(level, trueMs) === productId);
    for (const variantId of new Set(own.map((level) => level.variantId))) {
      const levels: LevelSnapshot[] = [];
      for (const level of own.filter((c) => c.variantId === variantId)) {
        const qty = this.qtyAt(level, trueMs);
        if (qty !== null)
          levels.push({ warehouseId: level.warehouseId, availableQty: qty, onHand: qty, reservedQty: 0 });
      }
      if (levels.length === 0) continue;
      const availableQty = levels.reduce((sum, l) => sum + l.availableQty, 0);
      const { unlisted } = this.plan;
      const isListed = unlisted === null || trueMs >= unlisted.untilMs;
      const reported = isListed ? { levels } : { kind: unlisted.kind };
      const bundledByCount = hasBundle && variantId === COMPONENT.variantId ? 1 : 0;
      variants.push({ ...variantSnapshot(null), variantId, availableQty, bundledByCount, ...reported });
    }
    return productSnapshot(variants);
  }

  run(): this {
    if (this.plan.knownBefore) {
      for (const productId of this.productIds) this.read(productId, { sentMs: -60_000, sampledMs: -60_000 });
    }
    const agenda: Step[] = [];
    for (const delivery of this.deliveries) {
      const { atMs } = delivery;
      agenda.push({
        atMs: this.appliedMs(atMs),
        arrivedMs: atMs,
        isRead: false,
        act: () => this.deliver(delivery),
      });
    }
    for (const read of this.plan.reads) {
      const productId = present(this.productIds[read.product % this.productIds.length]);
      const receivedMs = read.atMs + read.tookMs;
      const sampledMs =
        read.atMs - REPLICA_LAG_MS + Math.floor(read.sampled * (read.tookMs + REPLICA_LAG_MS));
      const arrivedMs = receivedMs + read.queuedMs;
      const mergedMs = this.appliedMs(arrivedMs);
      const merge = (): void =>
        this.read(productId, {
          sentMs: read.atMs,
          receivedMs,
          sampledMs,
          mergedMs,
          datedMs: read.dated ? read.atMs + Math.floor(read.tookMs / 2) : null,
          dateSkewMs: read.dateSkewMs,
        });
      agenda.push({ atMs: mergedMs, arrivedMs, isRead: true, act: merge });
    }
    agenda.sort(this.inOrder);
    for (const { atMs, act } of agenda) {
      this.nowMs = Math.max(this.nowMs, atMs);
      this.requestBundles();
      act();
    }
    return this;
  }

  /** After a stall, every delivery that arrived is applied before a read. */
  private readonly inOrder = (a: Step, b: Step): number => {
    if (a.atMs !== b.atMs) return a.atMs - b.atMs;
    const { stall } = this.plan;
    if (stall === null || a.atMs !== stall.atMs + stall.forMs) return 0;
    return Number(a.isRead) - Number(b.isRead) || a.arrivedMs - b.arrivedMs;
  };

  private appliedMs(atMs: number): number {
    const { stall } = this.plan;
    if (stall === null || atMs < stall.atMs) return atMs;
    return Math.max(atMs, stall.atMs + stall.forMs);
  }

  deliver({ atMs, changes, fate }: Delivery): void {
    this.nowMs = Math.max(this.nowMs, atMs);
    const learned = fate === 'understood' ? this.merged : this.doubted;
    for (const change of changes) learned.add(change);
    this.watch(this, this.nowMs, this.learn(fate, OWN_MS + atMs, changes));
  }

  private learn(fate: Fate, atMs: number, changes: readonly TrueChange[]): readonly Fact[] {
    const variantIds = changes.map(({ item }) => item.variantId);
    switch (fate) {
      case 'understood':
        return this.mirror.deliver(atMs, ...changes.map(({ item }) => item));
      case 'not_stored':
        return this.mirror.applyInput({ ...missedAt(atMs), why: 'not_stored', variantIds });
      case 'not_understood':
        return this.mirror.failToUnderstand(atMs, variantIds);
    }
  }

  read(
    productId: string,
    at: {
      sentMs: number;
      sampledMs: number;
      receivedMs?: number;
      mergedMs?: number;
      /** True time of the answer's `Date`; null without the header. */
      datedMs?: number | null;
      dateSkewMs?: number;
    },
  ): void {
    const receivedMs = at.receivedMs ?? at.sentMs;
    const { datedMs = receivedMs, dateSkewMs = 0 } = at;
    const aheadMs = dateSkewMs + this.plan.dateAheadMs;
    const storeMs = datedMs === null ? null : datedMs + clockMs(this.plan, datedMs) + aheadMs;
    const isAbsent = this.isAbsent(at.sentMs);
    const facts = this.mirror.read(isAbsent ? null : this.snapshotAt(productId, at.sampledMs), {
      productId,
      sentAtMs: OWN_MS + at.sentMs,
      receivedAtMs: OWN_MS + receivedMs,
      serverDateMs: storeMs === null ? null : Math.floor((OWN_MS + storeMs) / 1_000) * 1_000,
    });
    this.nowMs = Math.max(this.nowMs, at.mergedMs ?? receivedMs);
    const shownMs = this.shownMs.get(productId) ?? -Infinity;
    if (!isAbsent) this.shownMs.set(productId, Math.max(at.sampledMs, shownMs));
    this.watch(this, this.nowMs, facts);
  }

  private isAbsent(sentMs: number): boolean {
    const { absence } = this.plan;
    return absence !== null && sentMs >= absence.atMs && sentMs < absence.atMs + absence.forMs;
  }

  readAll(): this {
    const { productGoneAtMs } = this.plan;
    const goneMs = productGoneAtMs === Infinity ? 0 : productGoneAtMs;
    const lastMs = Math.max(goneMs, ...this.levels.flatMap((level) => level.changes.map((c) => c.trueAtMs)));
    this.nowMs = Math.max(this.nowMs, lastMs) + 5_000;
    for (const productId of this.productIds) {
      this.read(productId, { sentMs: this.nowMs, sampledMs: this.nowMs - this.lagMs() });
    }
    return this;
  }

  /** Reads until nothing is due. @returns the number of reads. */
  drain(atMost: number): number {
    const { tables } = this.mirror;
    for (let reads = 0; ; reads += 1) {
      this.requestBundles();
      this.listMissing();
      for (const variant of tables.variants.values()) {
        if (variant.lookupAtMs !== null) this.lookUp(variant.variantId, variant.lookupAtMs);
      }
      const due = [...tables.readRequests.values()].map((o) => ({
        atMs: o.notBeforeMs,
        productId: o.productId,
      }));
      for (const gap of tables.gaps.values()) {
        const productId = tables.variant(gap.variantId)?.productId ?? null;
        if (productId !== null) due.push({ atMs: gap.dueAtMs, productId });
      }
      due.sort((a, b) => a.atMs - b.atMs);
      const [next] = due;
      if (next === undefined) {
        const { bundlesDueAtMs } = tables.state();
        if (bundlesDueAtMs !== null) {
          this.nowMs = Math.max(this.nowMs, bundlesDueAtMs - OWN_MS);
          continue;
        }
        if ([...tables.variants.values()].some((variant) => variant.lookupAtMs !== null)) continue;
        if (tables.gaps.size > 0) throw new Error('a gap that nothing will close');
        return reads;
      }
      if (reads >= atMost)
        throw new Error(`reads are still requested after ${reads} reads: ${JSON.stringify(next)}`);
      if (next.atMs === LATEST_MS) {
        this.nowMs += 1;
        const atMs = OWN_MS + this.nowMs;
        this.mirror.applyInput({
          kind: 'allow_removals',
          atMs,
          productIds: null,
          by: 'Ana',
          reason: 'test',
          runId: 0,
        });
        continue;
      }
      const sentMs = Math.max(this.nowMs, next.atMs - OWN_MS);
      this.read(next.productId, { sentMs, sampledMs: sentMs - this.lagMs() });
    }
  }

  private requestBundles(): void {
    const { bundlesDueAtMs } = this.mirror.tables.state();
    const atMs = OWN_MS + this.nowMs;
    if (bundlesDueAtMs !== null && bundlesDueAtMs <= atMs)
      this.mirror.applyInput({ kind: 'bundles_due', atMs });
  }

  /** A list, if a product that answered 404 waits for one. */
  private listMissing(): void {
    const { tables } = this.mirror;
    const { listedFromMs } = tables.state();
    if (!tables.missingProducts().some(({ missingAtMs }) => missingAtMs > listedFromMs)) return;
    this.nowMs += REPLICA_LAG_MS;
    const atMs = OWN_MS + this.nowMs;
    const named = this.productIds.filter((id) => this.snapshotAt(id, this.nowMs) !== null);
    this.watch(this, this.nowMs, this.mirror.list(atMs, named));
  }

  private lookUp(variantId: string, lookupAtMs: number): void {
    this.nowMs = Math.max(this.nowMs, lookupAtMs - OWN_MS);
    const atMs = OWN_MS + this.nowMs;
    const found = this.productIds.filter((id) =>
      this.snapshotAt(id, this.nowMs)?.variants.some((variant) => variant.variantId === variantId),
    );
    if (found.length > 0)
      this.mirror.applyInput({ kind: 'listed', atMs, sentAtMs: atMs, productIds: found, lookup: true });
    else {
      this.mirror.applyInput({
        kind: 'lookup_missed',
        atMs,
        sentAtMs: atMs,
        variantIds: [variantId],
      });
    }
  }

  isSuspect(level: TrueLevel): boolean {
    const { tables } = this.mirror;
    return (
      this.isMissing(level) ||
      tables.readRequest(tables.variant(level.variantId)?.productId ?? level.productId)?.isSuspect === true ||
      tables.gapsOf(level.variantId).length > 0 ||
      (tables.variant(level.variantId)?.lookupAtMs ?? null) !== null
    );
  }

  /** The last read did not show the level, or what it belongs to. */
  private isMissing({ variantId, warehouseId }: TrueLevel): boolean {
    const { tables } = this.mirror;
    const variant = tables.variant(variantId);
    const productId = variant?.productId ?? null;
    const rows = [
      tables.stockLevel(variantId, warehouseId),
      variant,
      productId === null ? undefined : tables.product(productId),
    ];
    return rows.some((row) => row !== undefined && row.goneAtMs === null && row.missingAtMs !== null);
  }

  /** Differences between mirror and truth. */
  differences(): string[] {
    const wrong: string[] = [];
    for (const level of this.levels) {
      const found = this.mirror.qty(level.variantId, level.warehouseId);
      const truth = this.qtyAt(level, this.nowMs);
      if (found !== truth) wrong.push(`${level.variantId}/${level.warehouseId}: ${found}, in truth ${truth}`);
    }
    for (const productId of this.productIds) {
      const shown = this.snapshotAt(productId, this.nowMs)?.variants ?? [];
      for (const level of this.levels.filter((c) => this.productOf(c, this.nowMs) === productId)) {
        const found = this.mirror.total(level.variantId);
        const truth = shown.find((v) => v.variantId === level.variantId)?.availableQty ?? null;
        if (found !== truth) wrong.push(`total of ${level.variantId}: ${found}, in truth ${truth}`);
      }
    }
    const { bundleMadeAtMs } = this.plan;
    if (bundleMadeAtMs !== null && this.nowMs >= bundleMadeAtMs) {
      const found = this.mirror.total(BUNDLE.variantId);
      const truth = this.bundleQtyAt(this.nowMs);
      if (found !== truth) wrong.push(`the bundle: ${found}, in truth ${truth}`);
    }
    return wrong;
  }

  private lagMs(): number {
    return Math.floor(this.plan.drainSampled * REPLICA_LAG_MS);
  }
}

function clockMs({ offsetMs, clockBack }: Plan, trueMs: number): number {
  return clockBack === null || trueMs < clockBack.atMs ? offsetMs : offsetMs - clockBack.byMs;
}

function layOut(
  plan: LevelPlan,
  place: (typeof PLACES)[number],
  store: Plan,
  deliveries: Delivery[],
): TrueLevel {
  const { reversedBatches, orderedStamps } = store;
  let trueAtMs = 0;
  let qty = plan.isNew && plan.steps.length > 0 ? 0 : plan.start;
  let stampMs = Number.MIN_SAFE_INTEGER;
  let wasBack = false;
  const drawn: { trueAtMs: number; item: StockChange; step: StepPlan }[] = [];
  for (const step of plan.steps) {
    trueAtMs += step.afterMs;
    const isBack = store.clockBack !== null && trueAtMs >= store.clockBack.atMs;
    if (isBack && !wasBack) stampMs = Number.MIN_SAFE_INTEGER;
    wasBack = isBack;
    const stampedMs = OWN_MS + trueAtMs + clockMs(store, trueAtMs) + step.skewMs;
    stampMs = orderedStamps ? Math.max(stampMs, stampedMs) : stampedMs;
    const next = (qty + step.move) % 4;
    const item: StockChange = {
      ...place,
      sku: null,
      old: qty,
      new: next,
      updateTimeMs: stampMs + step.aheadMs,
      reason: null,
      orderId: null,
      userId: null,
    };
    drawn.push({ trueAtMs, item, step });
    qty = step.thenRemoved ? 0 : next;
    if (step.thenRemoved) stampMs += 1;
  }
  let previous: Delivery | null = null;
  const changes = drawn.map(({ trueAtMs: at, item, step }): TrueChange => {
    // A loss can hide the order of changes in one instant.
    const alone = drawn.every((d) => d.item === item || d.item.updateTimeMs !== item.updateTimeMs);
    const change = { trueAtMs: at, item, lost: step.lost && alone, thenRemoved: step.thenRemoved };
    if (change.lost) {
      previous = null;
      return change;
    }
    if (step.batched && previous !== null && previous.fate === step.fate) {
      previous.atMs = Math.max(previous.atMs, at);
      if (reversedBatches) previous.changes.unshift(change);
      else previous.changes.push(change);
    } else {
      previous = { atMs: at + step.delayMs, changes: [change], fate: step.fate };
      deliveries.push(previous);
    }
    if (step.againMs !== null && alone)
      deliveries.push({ atMs: at + step.againMs, changes: [change], fate: step.fate });
    return change;
  });
  const start = plan.isNew && plan.steps.length > 0 ? null : plan.start;
  return { ...place, start, changes };
}
