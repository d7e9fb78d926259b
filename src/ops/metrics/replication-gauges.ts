/** How this machine stands to the others that share its event log, as gauges. There are none on a single machine. */
import { Gauge, type Registry } from 'prom-client';
import type { ReplicationView } from '../condition/replication.ts';

/** @param shown called at each scrape; must be quick. */
export function createReplicationGauges(registry: Registry, shown: () => ReplicationView): void {
  // As for the other gauges: what is unknown, or not of this process, is NaN, since zero would be wrong.
  const gauge = (name: string, help: string, value: (view: ReplicationView) => number | undefined): void => {
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(value(shown()) ?? Number.NaN);
      },
    });
  };
  gauge(
    'stock_mirror_outbox_entries',
    'Deliveries that are answered, and not yet acknowledged by the engine.',
    ({ receiver }) => receiver?.backlog,
  );
  gauge('stock_mirror_outbox_age_seconds', 'How long the oldest of them has waited.', ({ receiver }) =>
    seconds(receiver?.backlog_age_ms),
  );
  gauge(
    'stock_mirror_replica_entries_left',
    'Entries that are known to be where this replica copies from, and are not here.',
    ({ replica }) => replica?.left,
  );
  gauge(
    'stock_mirror_replica_behind_seconds',
    'How long ago this replica last had everything; NaN if not since its start.',
    ({ replica }) => seconds(replica?.behind_ms),
  );
  gauge('stock_mirror_leading', '1 while this process reads from the store, else 0.', ({ lead }) => {
    return lead === null ? undefined : Number(lead.is_leading);
  });
  gauge(
    'stock_mirror_known_receivers',
    'Receivers that are heard of; 0 while the engine cannot be reached.',
    ({ members }) => members.receivers.length,
  );
  gauge(
    'stock_mirror_known_replicas',
    'Replicas that are heard of; 0 while the engine cannot be reached.',
    ({ members }) => members.replicas.length,
  );
}

function seconds(ms: number | null | undefined): number | undefined {
  return ms === null || ms === undefined ? undefined : ms / 1_000;
}
