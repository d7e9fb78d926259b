/** How this machine stands to the others that share its event log, as gauges. There are none on a single machine. */
import { Gauge, type Registry } from 'prom-client';
import type { ReplicationView } from '../condition/replication.ts';

/** @param shown called at each scrape; must be quick. */
export function createReplicationGauges(registry: Registry, shown: () => ReplicationView): void {
  const gauge = (name: string, help: string, value: (view: ReplicationView) => number | null): void => {
    // As for the other gauges: unknown is NaN, since zero would be wrong.
    const collect = function collect(this: Gauge): void {
      this.set(value(shown()) ?? Number.NaN);
    };
    new Gauge({ name, help, registers: [registry], collect });
  };
  const { receiver, replica, lead } = shown();
  if (receiver !== null) {
    gauge(
      'stock_mirror_outbox_entries',
      'Deliveries that are answered, and not yet acknowledged by the engine.',
      (view) => view.receiver?.backlog ?? null,
    );
    gauge(
      'stock_mirror_outbox_age_seconds',
      'How long the oldest of them has waited.',
      (view) => (view.receiver?.backlog_age_ms ?? 0) / 1_000,
    );
  }
  if (replica !== null) {
    gauge(
      'stock_mirror_replica_entries_left',
      'Entries that are known to be where this replica copies from, and are not here.',
      (view) => view.replica?.left ?? null,
    );
    gauge(
      'stock_mirror_replica_behind_seconds',
      'How long ago this replica last had everything.',
      ({ replica: at }) => (at === null || at.behind_ms === null ? null : at.behind_ms / 1_000),
    );
  }
  if (lead !== null) {
    gauge('stock_mirror_leading', '1 while this process reads from the store.', (view) =>
      view.lead?.is_leading === true ? 1 : 0,
    );
  }
}
