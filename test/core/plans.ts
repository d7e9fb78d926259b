/** Random faults of a store. */
import fc from 'fast-check';
import type { LevelPlan, Plan, ReadPlan, StepPlan } from './simulated-service.ts';

export interface Misfortune {
  /** Deliveries are lost, though never the last of a stock level. */
  readonly losses?: boolean;
  readonly lostTails?: boolean;
  readonly duplicates?: boolean;
  readonly removals?: boolean;
  /** Deliveries before the first read may look future-dated: the own clock is minutes behind. */
  readonly unknownOffset?: boolean;
  /** The clocks of the service's nodes contradict the order of a stock level's changes. */
  readonly unorderedStamps?: boolean;
  /** Details may show totals without warehouses, for a time or always. */
  readonly unlisted?: boolean;
  /** The store's clock is set back. */
  readonly clockBack?: boolean;
  /** Some nodes are minutes ahead of the others, and by more than any delivery is late. */
  readonly aheadNodes?: boolean;
  /** The answers' Date is minutes ahead of the stamps. */
  readonly dateAhead?: boolean;
  /** A variant moves to another product. */
  readonly moves?: boolean;
  /** A bundle contains the first variant: its total is a product's of its own, and moves without webhooks. */
  readonly bundles?: boolean;
  /** Deliveries are answered 503, or have an item that is not understood: the mirror learns only the variant. */
  readonly doubts?: boolean;
  /** For a time the mirror applies nothing; then the deliveries that arrived, and then the reads. */
  readonly stalls?: boolean;
  /** For a time the store answers every read with 404, though its list is right. */
  readonly absences?: boolean;
}

const instants = fc.oneof(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 3_000 }));
const delays = fc.oneof(
  { weight: 2, arbitrary: fc.integer({ min: 0, max: 50 }) },
  { weight: 2, arbitrary: fc.integer({ min: 0, max: 4_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 20_000 }) },
);
const skews = fc.oneof(fc.constantFrom(0, 1_000), fc.integer({ min: 0, max: 1_000 }));
const fraction = fc.double({ min: 0, max: 1, noNaN: true });

function sometimes(oneIn: number, at: boolean | undefined): fc.Arbitrary<boolean> {
  if (at !== true) return fc.constant(false);
  return fc.oneof({ weight: oneIn - 1, arbitrary: fc.constant(false) }, fc.constant(true));
}

export function plans(misfortune: Misfortune): fc.Arbitrary<Plan> {
  const { losses, lostTails, duplicates, removals, unknownOffset, unorderedStamps } = misfortune;
  const { unlisted, clockBack, aheadNodes, dateAhead, stalls, moves, bundles, doubts, absences } = misfortune;
  // A removal takes two reads 30 s apart.
  const long = (shorter: fc.Arbitrary<number>): fc.Arbitrary<number> =>
    removals === true || moves === true || absences === true
      ? fc.oneof(shorter, fc.integer({ min: 0, max: 60_000 }))
      : shorter;
  const step: fc.Arbitrary<StepPlan> = fc.record({
    afterMs: long(instants),
    move: fc.integer({ min: 1, max: 3 }),
    skewMs: skews,
    aheadMs: aheadNodes === true ? fc.constantFrom(0, 0, 60_000, 240_000) : fc.constant(0),
    delayMs: long(delays),
    lost: sometimes(4, losses),
    againMs: duplicates === true ? fc.option(long(delays), { freq: 3 }) : fc.constant(null),
    batched: fc.boolean(),
    thenRemoved: sometimes(6, removals),
    fate:
      doubts === true
        ? fc.constantFrom('understood', 'understood', 'not_stored', 'not_understood')
        : fc.constant('understood' as const),
  });
  const keepTail = (steps: StepPlan[]): StepPlan[] =>
    steps.map((s, i) => (i === steps.length - 1 && lostTails !== true ? { ...s, lost: false } : s));
  const level: fc.Arbitrary<LevelPlan> = fc.record({
    start: fc.integer({ min: 0, max: 3 }),
    isNew: sometimes(4, true),
    steps: fc.array(step, { maxLength: 6 }).map(keepTail),
  });
  const read: fc.Arbitrary<ReadPlan> = fc.record({
    atMs: long(fc.integer({ min: -1_000, max: 15_000 })),
    tookMs: fc.oneof(fc.integer({ min: 0, max: 100 }), fc.integer({ min: 0, max: 5_000 })),
    sampled: fc.oneof(fc.constant(0), fraction),
    dated: sometimes(5, true).map((undated) => !undated),
    dateSkewMs: skews,
    queuedMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 4_000 })),
    product: fc.integer({ min: 0, max: bundles === true ? 2 : 1 }),
  });
  return fc
    .record({
      offsetMs: fc.oneof(
        fc.integer({ min: -3_000, max: 3_000 }),
        fc.integer({ min: -900_000, max: 900_000 }),
      ),
      knownBefore: fc.boolean(),
      reversedBatches: fc.boolean(),
      levels: fc.oneof(
        fc.array(level, { minLength: 1, maxLength: 1 }),
        fc.array(level, { minLength: 1, maxLength: 4 }),
      ),
      reads: fc.array(read, { maxLength: removals === true || moves === true || absences === true ? 10 : 6 }),
      drainSampled: fraction,
      orderedStamps: fc.constant(unorderedStamps !== true),
      unlisted:
        unlisted === true
          ? fc.record({
              kind: fc.constantFrom('own' as const, 'pulled' as const),
              untilMs: fc.constantFrom(Infinity, Infinity, 4_000, 20_000),
            })
          : fc.constant(null),
      clockBack:
        clockBack === true
          ? fc.record({
              atMs: fc.integer({ min: 0, max: 6_000 }),
              byMs: fc.constantFrom(10_000, 30_000, 90_000),
            })
          : fc.constant(null),
      moveAtMs: moves === true ? fc.integer({ min: 0, max: 20_000 }) : fc.constant(null),
      bundleMadeAtMs:
        bundles === true
          ? fc.oneof(fc.constant(-3_600_000), fc.integer({ min: 0, max: 9_000 }))
          : fc.constant(null),
      stall:
        stalls === true
          ? fc.option(
              fc.record({
                atMs: fc.integer({ min: 0, max: 9_000 }),
                forMs: fc.integer({ min: 1, max: 9_000 }),
              }),
            )
          : fc.constant(null),
      absence:
        absences === true
          ? fc.record({
              atMs: fc.integer({ min: 0, max: 9_000 }),
              forMs: fc.constantFrom(5_000, 60_000, 600_000),
            })
          : fc.constant(null),
      dateAheadMs: dateAhead === true ? fc.constantFrom(0, 10_000, 600_000) : fc.constant(0),
      productGoneAtMs:
        removals === true
          ? fc.oneof({ weight: 5, arbitrary: fc.constant(Infinity) }, fc.integer({ min: 0, max: 20_000 }))
          : fc.constant(Infinity),
    })
    .map((plan) =>
      unknownOffset === true || plan.knownBefore
        ? plan
        : { ...plan, offsetMs: Math.min(plan.offsetMs, 298_000) },
    );
}
