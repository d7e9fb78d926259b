/** An operator may ask any replica: the request becomes an entry, and the lead carries it out. */
import { randomUUID } from 'node:crypto';
import type { Store } from '../mirror/store.ts';
import type { Operator } from '../ops/shared/operator.ts';
import type { Logger } from '../platform/log.ts';
import type { Reconciler } from '../reconcile/reconciler.ts';
import { allowRemovals, beginCatalogueRun, beginProductRun } from '../reconcile/runs.ts';
import type { Members } from '../replication/presence.ts';
import { STATE_KEYS } from '../replication/state-keys.ts';
import { TransportError, type Engine } from '../replication/transport.ts';
import { StoreError } from '../sqlite/errors.ts';

interface OperatorDeps {
  readonly store: Store;
  /** Null: this mirror only copies. The store's writer refuses requests, and says where to ask. */
  readonly engine: Pick<Engine, 'state'> | null;
  readonly now: () => number;
  readonly log: Logger;
  /** Of this machine while it leads. */
  readonly reconciler: () => Reconciler | null;
  readonly members: () => Members;
}

export function operatorOf(deps: OperatorDeps): Operator {
  const { engine, reconciler, members } = deps;
  return {
    async resync(productIds, options) {
      if (engine !== null) await tellLead(engine);
      if (options.allowRemovals) await allowRemovals(deps);
      return productIds === null
        ? beginCatalogueRun(deps, 'operator')
        : beginProductRun(deps, [...new Set(productIds)]);
    },
    get blocked() {
      const own = reconciler();
      if (own !== null) return own.blocked;
      return [...members().replicas.values()].find(({ isLeading }) => isLeading)?.blocked ?? null;
    },
    get readsUnderWay() {
      return reconciler()?.readsUnderWay ?? 0;
    },
  };
}

/** @throws StoreError */
async function tellLead({ state }: Pick<Engine, 'state'>): Promise<void> {
  try {
    await state.put(STATE_KEYS.operatorWord, randomUUID());
  } catch (error) {
    if (!(error instanceof TransportError)) throw error;
    throw new StoreError('cannot_commit', `nothing was begun: ${error.message}`, { cause: error });
  }
}
