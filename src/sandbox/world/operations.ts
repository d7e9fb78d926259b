import type { Clock } from './clock.ts';
import type { Factory } from './factory.ts';
import type { Ids } from './ids.ts';
import { Ledger } from './ledger.ts';
import type { Publish } from './model.ts';
import { createOrderOperations } from './order-operations.ts';
import type { OrderOperations } from './order-operations.ts';
import type { Random } from './random.ts';
import { createStockOperations } from './stock-operations.ts';
import type { StockOperations } from './stock-operations.ts';
import { createStructuralOperations } from './structural-operations.ts';
import type { StructuralOperations } from './structural-operations.ts';
import type { Truth } from './truth.ts';

/**
 * What staff and orders do to the store. Each operation changes the truth at once, then publishes the changes that the
 * store would send. Impossible ones throw OperationError and change nothing.
 */
export type Operations = OrderOperations & StockOperations & StructuralOperations;

interface OperationDeps {
  readonly truth: Truth;
  readonly clock: Clock;
  readonly random: Random;
  readonly ids: Ids;
  readonly factory: Factory;
  readonly publish: Publish;
}

export function createOperations(deps: OperationDeps): Operations {
  const { truth, clock, random, ids, factory } = deps;
  const users = [ids.next(), ids.next(), ids.next()];
  const publish: Publish = (changes) => {
    if (changes.length > 0) deps.publish(changes);
  };
  const ledger = new Ledger({ truth, clock });
  const userId = (): string => random.pick(users);

  return {
    ...createOrderOperations({ truth, ledger, clock, ids, publish }),
    ...createStockOperations({ truth, ledger, publish, userId }),
    ...createStructuralOperations({ truth, ledger, clock, factory, publish, userId }),
  };
}
