/** The state of the mirror as gauges. They show the last sample of the database; a scrape makes no query. */
import { Gauge, type Registry } from 'prom-client';
import { ALARM_KINDS, type Alarm } from '../alarms/alarm.ts';
import { CAUSE_KINDS } from '../condition/cause.ts';
import { CONDITIONS, type Condition } from '../condition/condition.ts';
import { MIRROR_STATES } from '../../mirror/file/state.ts';
import type { SampledState } from '../state/state-sampler.ts';
import { gauges } from './children.ts';

const BLOCKS = ['credentials', 'breaker', 'rate_limited', 'wrong_store'] as const;

/** What the gauges show. */
export interface Shown {
  /** As last read from the database; null: not known yet. */
  readonly sample: SampledState | null;
  readonly alarms: readonly Alarm[];
  /** Why no request is sent to the store at present. */
  readonly blocked: string | null;
  readonly readsUnderWay: number;
  readonly lastDeliveryAtMs: number | null;
  readonly condition: Condition | null;
}

/** @param shown called at each scrape; must be quick. */
export function createStateGauges(registry: Registry, now: () => number, shown: () => Shown): void {
  const registers = [registry];
  // Unknown is NaN, since zero would be wrong.
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
    {
      label,
      values,
      help,
      isOn,
    }: {
      readonly label: string;
      readonly values: readonly K[];
      readonly help: string;
      readonly isOn: (shown: Shown, value: K) => boolean;
    },
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

  oneOf('stock_mirror_state', {
    label: 'state',
    values: MIRROR_STATES,
    help: 'The state of the mirror: 1 for the current state, else 0.',
    isOn: (at, state) => at.sample?.status.state === state,
  });
  oneOf('stock_mirror_condition', {
    label: 'condition',
    values: CONDITIONS,
    help: 'The state of the mirror in one look, as page and status have it: 1 for the current one, else 0.',
    isOn: (at, condition) => at.condition?.name === condition,
  });
  oneOf('stock_mirror_cause', {
    label: 'cause',
    values: CAUSE_KINDS,
    help: '1 while this blocks the mirror, or deserves a look.',
    isOn: (at, kind) => at.condition?.causes.some((cause) => cause.kind === kind) === true,
  });
  gauge(
    'stock_mirror_certain_share',
    'Share of the stock levels that are certain, from 0 to 1; NaN while it cannot be said.',
    (at) => at.condition?.certainty.share,
  );
  oneOf('stock_mirror_alarm', {
    label: 'kind',
    values: ALARM_KINDS,
    help: '1 while the alarm is active.',
    isOn: (at, kind) => at.alarms.some((alarm) => alarm.kind === kind),
  });
  oneOf('stock_mirror_blocked', {
    label: 'kind',
    values: BLOCKS,
    help: '1 for the reason why no request is sent to the store at present.',
    isOn: (at, kind) => at.blocked === kind,
  });
  gauge(
    'stock_mirror_suspect_levels',
    'Stock levels marked suspect.',
    (at) => at.sample?.status.suspect_count,
  );
  gauge(
    'stock_mirror_open_gaps',
    'Gaps that wait for a late delivery or a read.',
    (at) => at.sample?.status.open_gaps,
  );
  gauge(
    'stock_mirror_pending_reads',
    'Products waiting to be read.',
    (at) => at.sample?.status.pending_reads,
  );
  gauge('stock_mirror_reads_under_way', 'Product reads in progress.', (at) => at.readsUnderWay);
  gauge(
    'stock_mirror_parked_reads',
    'Products whose reads the store refuses, or that failed repeatedly.',
    (at) => at.sample?.status.parked_reads,
  );
  gauge(
    'stock_mirror_failing_reads',
    'Products whose last read failed, parked ones included.',
    (at) => at.sample?.status.failing_reads,
  );
  gauge(
    'stock_mirror_held_removals',
    'Products, variants and stock levels that the mass-removal guard keeps until an operator allows their removal.',
    (at) => at.sample?.status.held_removals,
  );
  gauge('stock_mirror_oldest_verified_age_seconds', 'Age of the oldest product read.', (at) =>
    age(at.sample?.status.oldest_verified_at),
  );
  gauge(
    'stock_mirror_last_delivery_age_seconds',
    'Time since the last authentic delivery; NaN if there was none.',
    (at) => age(at.lastDeliveryAtMs),
  );
  gauge(
    'stock_mirror_last_full_sync_age_seconds',
    'Time since the last full read of the catalogue; NaN if there was none.',
    (at) => age(at.sample?.status.last_full_sync_at),
  );
  gauge('stock_mirror_products', 'Products in the mirror.', (at) => at.sample?.status.products);
  gauge(
    'stock_mirror_inbox_rows',
    'Deliveries in the inbox that are not pruned yet.',
    (at) => at.sample?.inboxRows,
  );
  gauge(
    'stock_mirror_deliveries_behind',
    'Deliveries in the inbox that are not applied yet.',
    (at) => at.sample?.lag.deliveries,
  );
  gauge(
    'stock_mirror_seconds_behind',
    'Age of the first entry that the tables do not hold yet; 0 if they hold all.',
    (at) => (at.sample === null ? undefined : (age(at.sample.lag.sinceMs) ?? 0)),
  );
  gauge('stock_mirror_database_bytes', 'Size of the database.', (at) => at.sample?.databaseBytes);
  gauge('stock_mirror_wal_bytes', 'Size of the database’s write-ahead log.', (at) => at.sample?.walBytes);
  gauge(
    'stock_mirror_disk_free_bytes',
    'Free space on the database’s disk, for an unprivileged user.',
    (at) => at.sample?.diskFreeBytes,
  );
  gauge('stock_mirror_sample_age_seconds', 'Age of the figures that come from the database.', (at) =>
    age(at.sample?.atMs),
  );
}
