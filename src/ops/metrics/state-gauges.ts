/** The state of the mirror as gauges. They show what was last asked of the database; a scrape asks nothing. */
import { Gauge, type Registry } from 'prom-client';
import { ALARM_KINDS, type Alarm } from '../alarms/alarm.ts';
import type { SampledState } from '../state-sampler.ts';
import { gauges } from './children.ts';

const STATES = ['live', 'catching_up', 'stale'] as const;
const BLOCKS = ['credentials', 'breaker', 'rate_limited', 'wrong_store'] as const;

/** What the gauges show. */
export interface Shown {
  /** As last asked of the store; null: not known yet. */
  readonly sample: SampledState | null;
  readonly alarms: readonly Alarm[];
  /** Why the service is not asked at present. */
  readonly blocked: string | null;
  readonly readsUnderWay: number;
  readonly lastDeliveryAtMs: number | null;
}

/** @param shown asked at each scrape; must be quick. */
export function createStateGauges(registry: Registry, now: () => number, shown: () => Shown): void {
  const registers = [registry];
  // Unknown is NaN: zero would be a lie.
  const gauge = (name: string, help: string, value: (shown: Shown) => number | null | undefined): void => {
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(value(shown()) ?? Number.NaN);
      },
    });
  };
  const oneOf = <K extends string>(
    name: string,
    label: string,
    values: readonly K[],
    help: string,
    isOn: (shown: Shown, value: K) => boolean,
  ): void => {
    const parent = new Gauge({
      name,
      help,
      labelNames: [label],
      registers,
      collect() {
        const at = shown();
        for (const value of values) children[value].set(isOn(at, value) ? 1 : 0);
      },
    });
    const children = gauges(parent, values);
  };
  const age = (atMs: number | null | undefined): number | null =>
    atMs === null || atMs === undefined ? null : Math.max(0, now() - atMs) / 1_000;

  oneOf(
    'stock_mirror_state',
    'state',
    STATES,
    'The state of the mirror: 1 for the one it is in.',
    (at, state) => at.sample?.status.state === state,
  );
  oneOf('stock_mirror_alarm', 'kind', ALARM_KINDS, '1 while the alarm stands.', (at, kind) =>
    at.alarms.some((alarm) => alarm.kind === kind),
  );
  oneOf(
    'stock_mirror_blocked',
    'kind',
    BLOCKS,
    '1 for the reason why the service is not asked at present.',
    (at, kind) => at.blocked === kind,
  );
  gauge(
    'stock_mirror_suspect_levels',
    'Stock levels under suspicion.',
    (at) => at.sample?.status.suspect_count,
  );
  gauge(
    'stock_mirror_open_gaps',
    'Broken chains that wait for a delivery or a read.',
    (at) => at.sample?.status.open_gaps,
  );
  gauge(
    'stock_mirror_pending_reads',
    'Products that are still to be read.',
    (at) => at.sample?.status.pending_reads,
  );
  gauge('stock_mirror_reads_under_way', 'Reads of products under way.', (at) => at.readsUnderWay);
  gauge(
    'stock_mirror_parked_reads',
    'Products whose reads are refused, or fail over and over.',
    (at) => at.sample?.status.parked_reads,
  );
  gauge(
    'stock_mirror_failing_reads',
    'Products whose last read failed, the parked ones among them.',
    (at) => at.sample?.status.failing_reads,
  );
  gauge(
    'stock_mirror_held_removals',
    'Products whose removal waits for an operator.',
    (at) => at.sample?.status.held_removals,
  );
  gauge('stock_mirror_oldest_verified_age_seconds', 'Since the product read longest ago was read.', (at) =>
    age(at.sample?.status.oldest_verified_at),
  );
  gauge(
    'stock_mirror_last_delivery_age_seconds',
    'Since the last authentic delivery; NaN when none has come.',
    (at) => age(at.lastDeliveryAtMs),
  );
  gauge(
    'stock_mirror_last_full_sync_age_seconds',
    'Since the catalogue was last read whole; NaN when it never was.',
    (at) => age(at.sample?.status.last_full_sync_at),
  );
  gauge('stock_mirror_products', 'Products in the mirror.', (at) => at.sample?.status.products);
  gauge(
    'stock_mirror_log_entries',
    'Entries in the log, until they are pruned.',
    (at) => at.sample?.logEntries,
  );
  gauge('stock_mirror_database_bytes', 'Size of the database.', (at) => at.sample?.databaseBytes);
  gauge(
    'stock_mirror_wal_bytes',
    'Size of the write-ahead log beside the database.',
    (at) => at.sample?.walBytes,
  );
  gauge(
    'stock_mirror_disk_free_bytes',
    'Room left on the disk of the database, for a user without privileges.',
    (at) => at.sample?.diskFreeBytes,
  );
  gauge('stock_mirror_sample_age_seconds', 'Since the figures of the database were asked for.', (at) =>
    age(at.sample?.atMs),
  );
}
