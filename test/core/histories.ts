/** Properties of the merge rules over random histories: run by properties.test.ts and `npm run histories`. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Input, ReadInput } from '../../src/core/input.ts';
import type { Fact } from '../../src/core/apply/fact.ts';
import { applyInput } from '../../src/core/apply/apply-input.ts';
import { DATE_CONTRADICTIONS, EARLIEST_MS, REPLICA_LAG_MS } from '../../src/core/limits.ts';
import { present } from '../shared/present.ts';
import { ASKING_FOR_READ } from './branches.ts';
import { Mirror } from './builders.ts';
import type { MemoryTables } from './memory-tables.ts';
import { plans, type Misfortune } from './plans.ts';
import {
  BUNDLE,
  COMPONENT,
  SimulatedService,
  type Plan,
  type StepPlan,
  type Watch,
} from './simulated-service.ts';

interface Property {
  readonly name: string;
  /** @throws Error with the smallest history found that breaks it. */
  readonly check: (options: { readonly numRuns: number; readonly seed?: number }) => void;
}

function property<T>(name: string, histories: fc.Arbitrary<T>, holds: (history: T) => void): Property {
  return { name, check: (options) => fc.assert(fc.property(histories, holds), options) };
}

export const ANYTHING: Misfortune = {
  losses: true,
  lostTails: true,
  duplicates: true,
  removals: true,
  unknownOffset: true,
  stalls: true,
};

export const PROPERTIES: readonly Property[] = [
  ...[{}, { losses: true }, { duplicates: true }, { losses: true, duplicates: true, stalls: true }].map(
    (misfortune) =>
      property(
        `without a scheduled read, reading what is requested ends equal to the truth, given ${JSON.stringify(misfortune)}`,
        plans(misfortune),
        (plan) => {
          const service = new SimulatedService(plan, neverSilentlyWrong).run();
          service.drain(service.productIds.length * 6);
          if (plan.knownBefore) assert.deepEqual(service.differences(), []);
        },
      ),
  ),

  property(
    'reading what is requested ends, whatever is removed, and nothing is silently wrong meanwhile',
    plans({ losses: true, lostTails: true, removals: true, duplicates: true, stalls: true }),
    (plan) => {
      const service = new SimulatedService(plan, neverSilentlyWrong).run();
      service.drain(service.productIds.length * 12);
    },
  ),

  ...[
    { unlisted: true, losses: true, lostTails: true },
    { unlisted: true, duplicates: true },
    { losses: true, lostTails: true, stalls: true },
    { removals: true, losses: true, duplicates: true },
  ].map((misfortune) =>
    property(
      `every total that a read or the webhooks have shown is right or suspect, given ${JSON.stringify(misfortune)}`,
      plans(misfortune),
      (plan) => {
        const service = new SimulatedService({ ...plan, knownBefore: true }, noTotalSilentlyWrong).run();
        service.drain(service.productIds.length * 12);
      },
    ),
  ),

  property(
    'what a read did not show any more is gone, or suspect',
    plans({ losses: true, lostTails: true, removals: true, stalls: true }),
    (plan) => {
      const service = new SimulatedService({ ...plan, knownBefore: true }, noneSilentlyThere).run();
      service.drain(service.productIds.length * 12);
    },
  ),

  property(
    'no product that the list names is removed, however many reads do not find it',
    plans({ absences: true, losses: true, lostTails: true }),
    (plan) => {
      // The search for an unknown variant would ask for further reads.
      const levels = plan.levels.map((level) => ({ ...level, isNew: false }));
      const known = { ...plan, levels, knownBefore: true };
      const service = new SimulatedService(known, neverRemovedIfListed).run();
      service.drain(service.productIds.length * 60);
      service.readAll().drain(service.productIds.length * 60);
      assert.deepEqual(service.differences(), []);
    },
  ),

  property(
    "every level whose last change was delivered is right or suspect after the store's clock was set back",
    plans({ clockBack: true, losses: true }),
    (plan) => {
      // Such a delivery may be from before or after the read.
      const levels = plan.levels.map((level) => ({
        ...level,
        steps: level.steps.slice(0, 3).map((step) => ({ ...stepUp(step), delayMs: 0, batched: false })),
      }));
      const service = new SimulatedService({ ...plan, levels, knownBefore: true }, neverSilentlyWrong).run();
      service.drain(service.productIds.length * 12);
    },
  ),

  property(
    "no late change silently undoes a read that saw it, though the store's clock was set back",
    plans({ clockBack: true, losses: true, lostTails: true }),
    (plan) => {
      // A prompt delivery before it shows that the clock was set back.
      const [prompt, ...others] = fourLevels(plan);
      const first = { ...present(prompt), isNew: false, steps: [PROMPT_STEP] };
      const late = others.map((level) => ({ ...level, steps: level.steps.map(unbatched) }));
      const known = { ...plan, levels: [first, ...late], knownBefore: true };
      const service = new SimulatedService(known, neverSilentlyUndone).run();
      service.drain(service.productIds.length * 12);
    },
  ),

  property(
    'every level is right or suspect once all has arrived, though some nodes are minutes ahead',
    plans({ aheadNodes: true }),
    (plan) => {
      const service = new SimulatedService({ ...plan, knownBefore: true }, rightOnceAllHasArrived).run();
      service.drain(service.productIds.length * 12);
    },
  ),

  property(
    'every level whose last change was delivered is right or suspect, though the Date is minutes ahead',
    plans({ dateAhead: true, losses: true }),
    (plan) => {
      const service = new SimulatedService({ ...plan, knownBefore: true }, neverSilentlyWrong).run();
      service.drain(service.productIds.length * 12);
    },
  ),

  property(
    'once the Date was dropped, no prompt change is taken for one that the last read saw',
    plans({ dateAhead: true }),
    (plan) => {
      const levels = plan.levels.map((level) => ({
        ...level,
        steps: level.steps.map((step) => ({
          ...stepUp(step),
          skewMs: 0,
          delayMs: step.delayMs % 50,
          batched: false,
        })),
      }));
      const prompt = { ...plan, levels, knownBefore: true, dateAheadMs: 600_000 };
      new SimulatedService(prompt, hidesNothingWithoutDate()).run();
    },
  ),

  property(
    'a variant that moved and was named since is not removed, and ends where it is',
    plans({ moves: true, losses: true }),
    (plan) => {
      const moving = { ...plan, levels: fourLevels(plan), knownBefore: true };
      const service = new SimulatedService(moving, neverRemovedIfNamed).run();
      service.readAll().drain(service.productIds.length * 12);
      assert.deepEqual(service.differences(), []);
    },
  ),

  property(
    'the total of a bundle is right or about to be read, whatever comes late, is lost or is doubtful of its components',
    plans({ bundles: true, losses: true, duplicates: true, doubts: true }),
    (plan) => {
      const service = new SimulatedService(plan, bundleNeverSilentlyWrong()).run();
      service.drain(service.productIds.length * 12);
    },
  ),

  property(
    'stamps up to 1 s out of order leave no wrong stock level unsuspected, where no quantity comes twice',
    plans({ unorderedStamps: true }),
    (plan) => {
      const levels = plan.levels.map((level) => ({ ...level, steps: level.steps.slice(0, 3).map(stepUp) }));
      const known = { ...plan, levels, knownBefore: true, reads: [] };
      const service = new SimulatedService(known, rightOnceAllHasArrived);
      service.run().drain(service.productIds.length * 6);
      assert.deepEqual(service.differences(), []);
    },
  ),

  property(
    'with one read of every product after the last straggler, the mirror ends equal, and no read is requested',
    plans(ANYTHING),
    (plan) => {
      const service = new SimulatedService(plan).run().readAll();
      service.drain(service.productIds.length * 6);
      assert.deepEqual(service.differences(), []);
      assert.equal(service.mirror.tables.readRequests.size + service.mirror.tables.gaps.size, 0);
    },
  ),

  property(
    'with one read of every product after the last straggler, any order of the same deliveries ends equal',
    plans({ duplicates: true, unknownOffset: true }).chain((plan) => {
      const { deliveries } = new SimulatedService({ ...plan, reads: [] });
      return fc.record({
        plan: fc.constant(plan),
        order: fc.shuffledSubarray([...deliveries], { minLength: deliveries.length }),
      });
    }),
    ({ plan, order }) => {
      const service = new SimulatedService({ ...plan, reads: [] });
      const laterMs = Math.max(0, ...order.map((delivery) => delivery.atMs));
      order.forEach((delivery, i) => service.deliver({ ...delivery, atMs: laterMs + i }));
      service.readAll();
      assert.deepEqual(service.differences(), []);
    },
  ),

  property(
    'redelivery of the only change at its time changes no value and no event time',
    plans({ losses: true }).chain((plan) =>
      fc.record({ plan: fc.constant(plan), pick: fc.nat(), laterMs: fc.integer({ min: 0, max: 9_000 }) }),
    ),
    ({ plan, pick, laterMs }) => {
      const service = new SimulatedService(plan).run();
      const alone = service.levels.flatMap((level) =>
        level.changes.filter(
          (change) =>
            service.merged.has(change) &&
            level.changes.filter((c) => c.item.updateTimeMs === change.item.updateTimeMs).length === 1,
        ),
      );
      const change = alone[pick % Math.max(1, alone.length)];
      if (change === undefined) return;
      const { variantId, warehouseId } = change.item;
      const before = service.mirror.tables.stockLevel(variantId, warehouseId);
      service.deliver({ atMs: service.nowMs + laterMs, changes: [change], fate: 'understood' });
      const after = service.mirror.tables.stockLevel(variantId, warehouseId);
      assert.deepEqual([after?.qty, after?.eventTimeMs], [before?.qty, before?.eventTimeMs]);
    },
  ),

  property(
    'event time never falls, and no read overwrites what it may not have seen',
    plans(ANYTHING),
    (plan) => {
      new SimulatedService(plan, overwritesNothingUnseen()).run().readAll().drain(20);
    },
  ),

  property(
    'no difference of a known level is called a loss if every change was delivered',
    plans({ duplicates: true, stalls: true }),
    (plan) => {
      const levels = plan.levels.map((level) => ({ ...level, isNew: false }));
      const service = new SimulatedService({ ...plan, levels, knownBefore: true }, noLossOfWhatCame);
      service.run().readAll().drain(20);
    },
  ),

  property('every contradiction leaves a re-read request, a lookup or a gap', plans(ANYTHING), (plan) => {
    new SimulatedService(plan, everyContradictionIsRequested).run();
  }),

  property(
    'applying the same inputs twice gives the same tables and the same facts',
    plans(ANYTHING),
    (plan) => {
      const { mirror } = new SimulatedService(plan).run().readAll();
      const [tables, facts] = replay(mirror.log);
      assert.deepEqual(tables, mirror.tables);
      assert.deepEqual(facts, mirror.facts);
    },
  ),

  property(
    'replaying the change feed gives the live quantities, and its rows chain',
    plans(ANYTHING),
    (plan) => {
      const service = new SimulatedService(plan).run().readAll();
      service.drain(20);
      const { tables } = service.mirror;
      const held = new Map<string, number>();
      let seq = 0;
      for (const row of tables.changes) {
        assert.ok(row.seq > seq, 'change numbers grow');
        seq = row.seq;
        assert.notEqual(row.oldQty, row.newQty);
        if (row.warehouseId === null) continue;
        const key = `${row.variantId}/${row.warehouseId}`;
        assert.equal(row.oldQty, held.get(key) ?? null);
        if (row.newQty === null) held.delete(key);
        else held.set(key, row.newQty);
      }
      const live = [...tables.levels].filter(([, level]) => level.goneAtMs === null);
      assert.deepEqual(held, new Map(live.map(([key, level]) => [key, level.qty])));
    },
  ),
];

interface Quantity {
  readonly productId: string;
  readonly shown: { readonly qty: number | null; readonly gone: boolean };
  /** Of the variant's levels; undefined if it is a level. */
  readonly sumQty?: number;
  readonly warehouseId?: string;
  readonly goneAtMs: number | null;
  readonly eventTimeMs: number;
  readonly eventAtMs: number;
}

function overwritesNothingUnseen(): Watch {
  let before = new Map<string, Quantity>();
  let readAtMs = new Map<string, number>();
  const mayNotHaveSeen = (read: ReadInput, was: Quantity): boolean => {
    if (read.sentAtMs < (readAtMs.get(was.productId) ?? EARLIEST_MS)) return true;
    const isOutdated = was.warehouseId === undefined && was.goneAtMs !== null;
    if (isOutdated && read.sentAtMs >= was.goneAtMs + REPLICA_LAG_MS) return false;
    return read.sentAtMs < was.eventAtMs + REPLICA_LAG_MS;
  };
  return ({ mirror, levels }) => {
    const { tables } = mirror;
    const input = present(mirror.log.at(-1));
    const after: typeof before = new Map();
    for (const { productId, variantId, warehouseId } of levels) {
      const level = tables.stockLevel(variantId, warehouseId);
      if (level === undefined) continue;
      const shown = { qty: level.qty, gone: level.goneAtMs !== null };
      after.set(`${variantId}/${warehouseId}`, { ...level, productId, shown });
      const variant = present(tables.variant(variantId));
      const total = { qty: variant.availableQty, gone: variant.goneAtMs !== null };
      const live = tables.stockLevelsOf(variantId).filter(({ goneAtMs }) => goneAtMs === null);
      const sumQty = live.reduce((sum, { qty }) => sum + qty, 0);
      if (total.qty !== null || total.gone)
        after.set(variantId, { ...variant, productId, shown: total, sumQty, eventTimeMs: EARLIEST_MS });
    }
    for (const [key, was] of before) {
      const is = present(after.get(key));
      assert.ok(is.eventTimeMs >= was.eventTimeMs, `the event time of ${key} fell`);
      if (input.kind !== 'read' || !mayNotHaveSeen(input, was)) continue;
      // A read that saw all changes of one level moves the total with it.
      const moveQty = (is.sumQty ?? 0) - (was.sumQty ?? 0);
      const movedQty = was.shown.qty === null ? null : was.shown.qty + moveQty;
      if (is.shown.qty !== movedQty) assert.deepEqual(is.shown, was.shown, key);
    }
    before = after;
    readAtMs = new Map([...tables.products].map(([id, product]) => [id, product.readAtMs]));
  };
}

const everyContradictionIsRequested: Watch = (service, _nowMs, facts) => {
  if (facts.some((fact) => fact.kind === 'gap_closed')) return;
  for (const [i, fact] of facts.entries()) {
    if ((fact.kind !== 'change' && fact.kind !== 'level') || !ASKING_FOR_READ.has(fact.branch)) continue;
    // A later change of the same delivery is newer than the read.
    if (fact.branch === '4b uncertain' && facts.slice(i + 1).some((later) => isNewerThanRead(later, fact)))
      continue;
    const level = present(service.levels.find((c) => c.variantId === fact.variantId));
    assert.ok(service.isSuspect(level), fact.branch);
    const { tables } = service.mirror;
    const variant = tables.variant(fact.variantId);
    if (fact.branch === '4c gap' || variant?.productId === null || variant?.lookupAtMs !== null) continue;
    const askedAtMs = Math.max(
      tables.readRequest(level.productId)?.madeAtMs ?? EARLIEST_MS,
      ...tables.gapsOf(fact.variantId).map(({ openedAtMs }) => openedAtMs),
    );
    assert.ok(askedAtMs >= present(service.mirror.log.at(-1)).atMs, fact.branch);
  }
};

const isNewerThanRead = (
  later: Fact,
  { variantId, warehouseId }: { readonly variantId: string; readonly warehouseId: string },
): boolean =>
  later.kind === 'change' &&
  later.branch.startsWith('4c') &&
  later.variantId === variantId &&
  later.warehouseId === warehouseId;

function replay(log: readonly Input[]): [MemoryTables, Fact[]] {
  const { tables, facts } = new Mirror();
  for (const input of log) applyInput(tables, input, (fact) => facts.push(fact));
  return [tables, facts];
}

function fourLevels({ levels }: Plan): Plan['levels'] {
  return [0, 1, 2, 3].map((i) => present(levels[i % levels.length]));
}

const stepUp = (step: StepPlan): StepPlan => ({ ...step, move: 1 });

const unbatched = (step: StepPlan): StepPlan => ({ ...step, batched: false });

const PROMPT_STEP: StepPlan = {
  afterMs: 0,
  move: 1,
  skewMs: 0,
  aheadMs: 0,
  delayMs: 0,
  lost: false,
  againMs: null,
  batched: false,
  thenRemoved: false,
  fate: 'understood',
};

const rightOnceAllHasArrived: Watch = (service, nowMs, facts) => {
  const arrived = service.levels.every((level) =>
    level.changes.every((change) => service.merged.has(change)),
  );
  if (arrived) neverSilentlyWrong(service, nowMs, facts);
};

/**
 * When a stock level's last change has been merged, or the last read has shown it, the level is right or
 * under suspicion.
 */
const neverSilentlyWrong: Watch = (service, nowMs) => {
  for (const level of service.levels) {
    const past = level.changes.filter((change) => change.trueAtMs <= nowMs);
    const last = past.at(-1);
    if (last === undefined || service.qtyAt(level, nowMs) === null) continue;
    const sameInstant = past.filter((c) => c.item.updateTimeMs === last.item.updateTimeMs);
    const isMerged = sameInstant.every((change) => service.merged.has(change));
    const isShown = last.trueAtMs <= (service.shownMs.get(level.productId) ?? -Infinity);
    if (!isMerged && !isShown) continue;
    const qty = service.mirror.qty(level.variantId, level.warehouseId);
    if (qty === last.item.new || service.isSuspect(level)) continue;
    throw new Error(`${level.variantId}/${level.warehouseId} is silently ${qty}, not ${last.item.new}`);
  }
};

/** While the last read has shown a level's last change, the level is right or under suspicion. */
const neverSilentlyUndone: Watch = (service, nowMs) => {
  for (const level of service.levels) {
    const last = level.changes.findLast((change) => change.trueAtMs <= nowMs);
    if (last === undefined || last.trueAtMs > (service.shownMs.get(level.productId) ?? -Infinity)) continue;
    const qty = service.mirror.qty(level.variantId, level.warehouseId);
    if (qty === last.item.new || service.isSuspect(level)) continue;
    throw new Error(`${level.variantId}/${level.warehouseId} is silently ${qty}, not ${last.item.new}`);
  }
};

/** As long as each change of the variant is merged or was shown by a read, its total is right or under suspicion. */
const noTotalSilentlyWrong: Watch = (service, nowMs) => {
  for (const { productId, variantId } of service.levels) {
    const levels = service.levels.filter((level) => level.variantId === variantId);
    const shownMs = service.shownMs.get(productId) ?? -Infinity;
    const isDelivered = levels.every((level) =>
      level.changes.every(
        (change) => change.trueAtMs > nowMs || change.trueAtMs <= shownMs || service.merged.has(change),
      ),
    );
    const total = service.mirror.total(variantId);
    if (levels.some((level) => service.qtyAt(level, nowMs) === null)) continue;
    if (!isDelivered || total === null || levels.some((level) => service.isSuspect(level))) continue;
    const truth = levels.reduce((sum, level) => sum + (service.qtyAt(level, nowMs) ?? 0), 0);
    if (total !== truth) throw new Error(`the total of ${variantId} is silently ${total}, not ${truth}`);
  }
};

const noLossOfWhatCame: Watch = (service, nowMs, facts) => {
  for (const fact of facts) {
    if (fact.kind !== 'drift' || (fact.reason !== 'lost_tail' && fact.reason !== 'gap')) continue;
    const { variantId, warehouseId } = fact;
    const level = service.levels.find((c) => c.variantId === variantId && c.warehouseId === warehouseId);
    if (level === undefined) continue;
    const isMissing = level.changes.some((change) => change.trueAtMs <= nowMs && !service.merged.has(change));
    if (!isMissing) throw new Error(`${variantId}/${warehouseId} is called ${fact.reason}, and all came`);
  }
};

/** A row absent from a read and from the store is gone, pending removal or suspect. */
const noneSilentlyThere: Watch = (service, nowMs) => {
  for (const level of service.levels) {
    const shownMs = service.shownMs.get(level.productId) ?? -Infinity;
    const isGone = service.qtyAt(level, shownMs) === null && service.qtyAt(level, nowMs) === null;
    const changedSince = level.changes.some(({ trueAtMs }) => trueAtMs > shownMs && trueAtMs <= nowMs);
    if (!isGone || changedSince || service.isSuspect(level)) continue;
    if (service.mirror.qty(level.variantId, level.warehouseId) === null) continue;
    throw new Error(`${level.variantId}/${level.warehouseId} is silently there`);
  }
};

function hidesNothingWithoutDate(): Watch {
  let wasDropped = false;
  return (service, _nowMs, facts) => {
    const { mirror, levels, shownMs } = service;
    for (const fact of facts) {
      if (fact.kind !== 'change' || !wasDropped || !fact.branch.endsWith('seen by the read')) continue;
      const level = levels.find((c) => c.variantId === fact.variantId && c.warehouseId === fact.warehouseId);
      const input = present(mirror.log.at(-1));
      if (level === undefined || input.kind !== 'delivery') continue;
      const items = input.changes.filter((item) => item.warehouseId === level.warehouseId);
      const changes = level.changes.filter(({ item }) => items.includes(item));
      const isHidden = changes.every(
        ({ trueAtMs }) => trueAtMs > (shownMs.get(level.productId) ?? -Infinity),
      );
      if (isHidden)
        throw new Error(`a change of ${fact.variantId} after the last read is hidden by its Date`);
    }
    wasDropped = mirror.tables.state().dateContradictions >= DATE_CONTRADICTIONS;
  };
}

const neverRemovedIfNamed: Watch = (service, nowMs, facts) => {
  for (const fact of facts) {
    if (fact.kind !== 'removed' || fact.what !== 'variant') continue;
    const levels = service.levels.filter(({ variantId }) => variantId === fact.id);
    const lives = levels.some((level) => service.qtyAt(level, nowMs) !== null);
    const movedAtMs = service.plan.moveAtMs ?? Infinity;
    const isNamed = levels.some(({ changes }) =>
      changes.some((change) => change.trueAtMs >= movedAtMs && service.merged.has(change)),
    );
    if (lives && isNamed) throw new Error(`${fact.id} was removed, although a delivery has named it since`);
  }
};

const neverRemovedIfListed: Watch = (service, nowMs, facts) => {
  for (const fact of facts) {
    if (fact.kind !== 'removed' || fact.what !== 'product') continue;
    if (service.snapshotAt(fact.id, nowMs) !== null) throw new Error(`product ${fact.id} was removed`);
  }
};

/**
 * As long as each change of the component is merged, or was shown by a read that was not its first and that moved the
 * component's total: changes that cancel each other out are not seen in a read.
 */
function bundleNeverSilentlyWrong(): Watch {
  const { productId, variantId } = COMPONENT;
  let shownBeforeMs = -Infinity;
  let totalBefore: number | null = null;
  let seenMs = -Infinity;
  return (service, nowMs) => {
    const { mirror, levels, merged, doubted, plan } = service;
    const { tables } = mirror;
    const components = levels.filter((level) => level.variantId === variantId);
    const shownMs = service.shownMs.get(productId) ?? -Infinity;
    const componentTotal = mirror.total(variantId);
    if (shownMs > shownBeforeMs && componentTotal !== totalBefore) seenMs = shownMs;
    shownBeforeMs = shownMs;
    totalBefore = componentTotal;
    const isDelivered = components.every(({ changes }) =>
      changes.every(
        (change) =>
          change.trueAtMs > nowMs ||
          merged.has(change) ||
          doubted.has(change) ||
          (plan.knownBefore && change.trueAtMs <= seenMs),
      ),
    );
    const detailJson = tables.product(productId)?.detailJson ?? null;
    const total = mirror.total(BUNDLE.variantId);
    if (!isDelivered || detailJson === null || total === null) return;
    const isDue =
      tables.state().bundlesDueAtMs !== null || tables.readRequest(BUNDLE.productId)?.isSuspect === true;
    const truth = service.bundleQtyAt(nowMs);
    if (total !== truth && !isDue) throw new Error(`the bundle's total is silently ${total}, not ${truth}`);
  };
}
