/**
 * Short histories that random stories rarely contain: a loss, a slow read, a lagging replica and a late webhook of
 * one variant.
 */
import type { SimulatedService } from '../../src/sandbox/sandbox.ts';
import { OperationError } from '../../src/sandbox/shared/errors.ts';
import { present } from '../shared/present.ts';
import type { DetailFault, Fate, Scene, SceneDeed } from './plan.ts';
import { PLAIN, type Mail } from './mail.ts';
import type { StoreSide } from './store-side.ts';
import { WORLD, type VirtualTime } from './virtual-time.ts';

interface Props {
  readonly time: VirtualTime;
  readonly service: SimulatedService;
  readonly mail: Mail;
  readonly side: StoreSide;
  readonly ask: (productIds: readonly string[]) => void;
  readonly onTouched: (productId: string) => void;
  readonly count: (what: string) => void;
  readonly distort: (fault: DetailFault, forMs: number) => void;
  readonly isOver: () => boolean;
}

type Variant = SimulatedService['truth']['variants'][number];
type Step = readonly [afterMs: number, action: () => void];

const LOST: Fate = { ...PLAIN, lost: true };
const late = (delayMs: number): Fate => ({ ...PLAIN, delayMs });
const SENT_AFTER_MS = 2_000;

/** @throws OperationError when the catalogue has nothing to play it with. */
export function play(props: Props, { scene, a, b, c }: SceneDeed): void {
  const { time, service, mail, side, ask } = props;
  const { truth, operations, clock } = service;
  const live = truth.variants.filter((variant) => truth.variant(variant.id) !== undefined);
  const pick = <T>(items: readonly T[], index: number): T => {
    if (items.length === 0) throw new OperationError('nothing to choose from');
    return present(items[index % items.length]);
  };
  const perform = (steps: readonly Step[]): void => {
    for (const [afterMs, action] of steps) {
      time.after(afterMs, WORLD, () => {
        try {
          if (!props.isOver()) action();
        } catch (error) {
          if (!(error instanceof OperationError)) throw error;
        }
      });
    }
  };
  const stocked = live.filter(({ levels, kind }) => levels.length > 0 && kind !== 'bundle');
  const target = (of: readonly Variant[] = stocked) => {
    const variant = pick(of, a);
    const { warehouseId } = pick(variant.levels, b);
    return { variant, variantId: variant.id, warehouseId };
  };
  const add = (at: { variantId: string; warehouseId: string }, by: number, fate: Fate = PLAIN): void => {
    mail.nextFate = fate;
    try {
      operations.add({ variantId: at.variantId, warehouseId: at.warehouseId, by });
    } finally {
      mail.nextFate = PLAIN;
    }
  };
  const addBy = (
    aheadMs: number,
    at: { variantId: string; warehouseId: string },
    by: number,
    fate: Fate,
  ): void => {
    const level = truth
      .variant(at.variantId)
      ?.levels.find(({ warehouseId }) => warehouseId === at.warehouseId);
    const stampMs = level?.stampMs ?? 0;
    clock.offsetMs += aheadMs;
    props.count('timestamp ahead');
    try {
      add(at, by, fate);
    } finally {
      clock.offsetMs -= aheadMs;
      if (level !== undefined) level.stampMs = stampMs;
    }
  };
  const jitter = (upToMs: number): number => c % upToMs;

  /** The first read is slow and sampled just after `happens`, the next comes from a replica that has not seen it. */
  const overlap = (productId: string, happens: () => void): void => {
    side.prescribe(
      productId,
      { lateMs: 2_200 + jitter(1_500), before: happens, ageMs: 0 },
      { lateMs: 0, ageMs: 1_900 },
    );
    perform([
      [0, () => ask([productId])],
      [700, () => ask([productId])],
    ]);
  };

  const moving = () => {
    const at = target(
      live.filter(
        ({ kind, levels, product }) =>
          kind === 'own' &&
          levels.length > 0 &&
          product.variants.filter(({ deleted }) => !deleted).length > 1,
      ),
    );
    const from = at.variant.product;
    const to = pick(
      truth.products.filter(({ kind, deleted, id }) => kind === 'own' && !deleted && id !== from.id),
      c,
    );
    const move = (): void => {
      operations.moveVariant(at.variantId, to.id);
      props.onTouched(from.id);
      props.onTouched(to.id);
    };
    return { at, from, to, move };
  };

  const scenes: Record<Scene, () => void> = {
    // A late change, the next one lost, and a read between that has seen both.
    late_after_read: () => {
      const at = target();
      perform([
        [0, () => add(at, -1, late(SENT_AFTER_MS + 1_200 + jitter(3_000)))],
        [30 + jitter(200), () => add(at, 1, LOST)],
        [250, () => ask([at.variant.product.id])],
      ]);
    },
    overlapping_reads: () => {
      const at = target();
      overlap(at.variant.product.id, () => add(at, 1 + (c % 3), LOST));
    },
    overlapping_absence: () => {
      const variant = pick(
        live.filter(({ product }) => product.variants.filter(({ deleted }) => !deleted).length > 1),
        a,
      );
      const productId = variant.product.id;
      overlap(productId, () => {
        if (b % 3 === 0) operations.deleteProduct(productId);
        else operations.deleteVariant(variant.id);
        props.onTouched(productId);
        props.onTouched(variant.product.id);
      });
    },
    clock_back: () => {
      const at = target();
      const backMs = 10_000 + jitter(20_000);
      perform([
        [0, () => add(at, 1)],
        [500, () => ask([at.variant.product.id])],
        [
          5_000,
          () => {
            clock.offsetMs -= backMs;
            props.count("service's clock set back");
            for (const { levels } of truth.variants) for (const level of levels) level.stampMs = 0;
          },
        ],
        [5_300, () => add(at, 1, b % 2 === 0 ? PLAIN : LOST)],
        [6_500 + jitter(500), () => add(at, 1)],
        [25_000, () => void (clock.offsetMs += backMs)],
      ]);
    },
    node_ahead: () => {
      const at = target();
      perform([
        [0, () => addBy(240_000, at, 1, late(SENT_AFTER_MS + 1_500 + jitter(3_000)))],
        [40 + jitter(200), () => add(at, -1, c % 2 === 0 ? LOST : PLAIN)],
        [300, () => ask([at.variant.product.id])],
      ]);
    },
    moved: () => {
      const { at, from, move } = moving();
      const namedMs = b % 2 === 0 ? 5_000 + jitter(20_000) : 40_000 + jitter(5_000);
      perform([
        [0, move],
        [300, () => ask([from.id])],
        [namedMs, () => add(at, 1)],
      ]);
    },
    // It moves between two answers: the one that was sent first shows it where it is.
    overlapping_move: () => {
      const { at, from, to, move } = moving();
      const happens = (): void => {
        move();
        add(at, -1, LOST);
      };
      side.prescribe(to.id, { lateMs: 6_000 + jitter(1_000), before: happens, ageMs: 0 });
      perform([
        [0, () => ask([to.id])],
        [2_500 + jitter(500), () => ask([from.id])],
      ]);
    },
    // Known from webhooks alone: two errors cancel each other out in its total, until a late change seems to
    // close a gap.
    untold_burst: () => {
      const at = target(stocked.filter(({ levels }) => levels.length === 1));
      perform([
        [
          0,
          () => {
            add(at, 1, late(1_000));
            add(at, 1);
            add(at, -1, late(10_000));
          },
        ],
        [9_000, () => add(at, -1)],
      ]);
    },
    odd_details: () => {
      const fault = present(
        (['no_warehouses', 'first_variant', 'listed_twice', 'hidden_warehouse'] as const)[c % 4],
      );
      const at = target();
      perform([
        [0, () => props.distort(fault, 45_000 + jitter(30_000))],
        [100, () => ask([])],
        [4_000 + jitter(4_000), () => add(at, 1)],
      ]);
    },
    hidden_level: () => {
      const { variant } = target(live.filter(({ kind, levels }) => kind === 'own' && levels.length > 1));
      const [, hidden] = variant.levels
        .map(({ warehouseId }) => warehouseId)
        .toSorted((one, other) => Number(one) - Number(other));
      const at = { variantId: variant.id, warehouseId: present(hidden) };
      perform([
        [0, () => props.distort('hidden_warehouse', 150_000)],
        [100, () => ask([variant.product.id])],
        ...Array.from({ length: 30 }, (_, i): Step => [
          38_000 + i * 3_700,
          () => add(at, i % 2 === 0 ? 1 : -1),
        ]),
      ]);
    },
  };
  scenes[scene]();
}
