/** What is wired to a store wherever one is opened: its news and facts go to the log output, and warehouses get their names. */
import type { Config } from '../config/config.ts';
import type { StoreEvents } from '../mirror/open-store.ts';
import type { Store } from '../mirror/store.ts';
import { FactLog } from '../ops/state/fact-log.ts';
import type { Logger } from '../platform/log.ts';
import { untilCommitted } from './until-committed.ts';

export function tellNews(log: Logger) {
  return {
    onNews: ({ message, ...details }) => log.warn(details, message),
    onApplyNews: ({ message, error }) =>
      error === null ? log.warn(message) : log.error({ err: error }, message),
  } satisfies Partial<StoreEvents>;
}

export function tellFacts({ writer }: Pick<Store, 'writer'>, log: Logger): void {
  const factLog = new FactLog(log);
  writer.onApplied(({ reports }) => {
    for (const { facts, seq } of reports) for (const fact of facts) factLog.tell(fact, seq);
  });
}

interface NamingDeps {
  readonly store: Pick<Store, 'writer'>;
  readonly config: Pick<Config, 'warehouseNames'>;
  readonly log: Logger;
}

/** Others lose theirs. Until aborted. */
export async function nameWarehouses({ store, config, log }: NamingDeps, signal: AbortSignal): Promise<void> {
  const names = Object.fromEntries(config.warehouseNames);
  try {
    await untilCommitted(() => store.writer.command('nameWarehouses', { names }), signal);
  } catch (error) {
    if (signal.aborted) return;
    log.error(
      { err: error },
      'WAREHOUSE_NAMES could not be written: `warehouse_name` in the views is as before; start the mirror again',
    );
  }
}
