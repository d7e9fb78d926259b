/** What chance brings about too seldom: short histories in which several machines would go wrong if a rule were missing. */
import { OperationError } from '../../../src/sandbox/world/targets.ts';
import type { SimulatedService } from '../../../src/sandbox/sandbox.ts';
import { present } from '../../shared/present.ts';
import type { StoreSide } from '../store-side.ts';
import { WORLD, type VirtualTime } from '../virtual-time.ts';
import type { Broker } from '../../replication/simulated/broker.ts';
import type { Machine } from './machine.ts';

export const CLUSTER_SCENES = [
  'tail_lost_at_rest',
  'stale_read',
  'one_ahead',
  'repeated_when_pruned',
] as const;
export type ClusterScene = (typeof CLUSTER_SCENES)[number];

export interface Theatre {
  readonly time: VirtualTime;
  readonly service: SimulatedService;
  readonly broker: Broker;
  readonly side: StoreSide;
  readonly machines: readonly Machine[];
  readonly ask: (machine: Machine, path: string, body: unknown) => void;
  readonly restart: (machine: Machine, downMs: number) => void;
  /** Sends the last delivery once more, to whichever receiver. */
  readonly replay: () => void;
  readonly isOver: () => boolean;
}

interface Drawn {
  readonly a: number;
  readonly b: number;
  readonly c: number;
}

type Step = readonly [afterMs: number, action: () => void];

export function playScene(theatre: Theatre, scene: ClusterScene, { a, b, c }: Drawn): void {
  const { time, service, broker, side, machines, ask, restart, replay, isOver } = theatre;
  const { truth, operations } = service;
  const perform = (steps: readonly Step[]): void => {
    for (const [afterMs, action] of steps) {
      time.after(afterMs, WORLD, () => {
        if (!isOver()) quietly(action);
      });
    }
  };
  const stocked = truth.variants.filter(
    ({ kind, levels, deleted }) => kind === 'own' && !deleted && levels.length > 0,
  );
  const variant = stocked[a % Math.max(1, stocked.length)];
  const replicas = machines.filter(({ isReplica }) => isReplica);
  if (variant === undefined) return;
  const add = (by: number): void => {
    operations.add({
      variantId: variant.id,
      warehouseId: present(variant.levels[b % variant.levels.length]).warehouseId,
      by,
    });
  };
  switch (scene) {
    // What was acknowledged is gone, and no delivery comes that would meet with the loss.
    case 'tail_lost_at_rest':
      perform([
        [0, () => add(2)],
        [30, () => add(1)],
        [1_500 + (c % 2_000), () => void broker.loseTail(2 + (c % 4))],
      ]);
      return;
    // The answer was sampled before the change, and its request sent after the delivery was here.
    case 'stale_read': {
      const productId = variant.product.id;
      perform([
        [0, () => add(3)],
        [
          300 + (c % 600),
          () => {
            side.prescribe(productId, { lateMs: 20, ageMs: 1_600 });
            ask(present(replicas[0]), '/api/resync', { product_ids: [productId] });
          },
        ],
      ]);
      return;
    }
    // One replica has what the others do not, and is down while they begin anew without it.
    case 'one_ahead': {
      const ahead = present(replicas[c % replicas.length]);
      perform([
        [
          0,
          () => {
            for (const other of replicas) if (other !== ahead) other.way.isCut = true;
          },
        ],
        [600, () => add(1)],
        [800, () => add(2)],
        [
          2_500,
          () => {
            ahead.kill();
            restart(ahead, 30_000);
            if (b % 2 === 0) broker.loseTail(30);
            else broker.empty();
            for (const other of replicas) other.way.isCut = false;
          },
        ],
      ]);
      return;
    }
    case 'repeated_when_pruned':
      perform([
        [0, () => add(1)],
        [95_000, () => add(1)],
        [100_000, () => ask(present(replicas[c % replicas.length]), '/api/prune', {})],
        [125_000, replay],
      ]);
  }
}

/** Out of stock, already deleted: as in a shop, some attempts come to nothing. */
function quietly(action: () => void): void {
  try {
    action();
  } catch (error) {
    if (!(error instanceof OperationError)) throw error;
  }
}
