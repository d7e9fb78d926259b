import type { Clock } from './clock.ts';
import type { Factory } from './factory.ts';
import type { Ids } from './ids.ts';
import { Ledger } from './ledger.ts';
import type { Change, Publish } from './model.ts';
import { createOrderOperations } from './order-operations.ts';
import type { Random } from './random.ts';
import { createStockOperations } from './stock-operations.ts';
import { createStructuralOperations } from './structural-operations.ts';
import type { Truth } from './truth.ts';

/** The parts that operations share. */
export interface OperationDeps {
  readonly truth: Truth;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly factory: Factory;
  /** Publishes the changes and returns them. */
  readonly published: (changes: Change[]) => Change[];
  readonly userId: () => string;
}

/**
 * What staff and orders do to the store. Each operation changes the truth at once, then publishes the changes that the
 * store would send. Impossible ones throw OperationError and change nothing.
 */
export type Operations = ReturnType<typeof createOperations>;

export function createOperations({
  random,
  publish,
  ...parts
}: Pick<OperationDeps, 'truth' | 'clock' | 'ids' | 'factory'> & {
  readonly random: Random;
  readonly publish: Publish;
}) {
  const users = [parts.ids.next(), parts.ids.next(), parts.ids.next()];
  const deps: OperationDeps = {
    ...parts,
    ledger: new Ledger(parts),
    userId: () => random.pick(users),
    published: (changes) => {
      if (changes.length > 0) publish(changes);
      return changes;
    },
  };
  return {
    ...createOrderOperations(deps),
    ...createStockOperations(deps),
    ...createStructuralOperations(deps),
  };
}
