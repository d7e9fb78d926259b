import { Gauge, type Registry } from 'prom-client';
import { DRIFT_REASONS } from '../../core/drift-reasons.ts';
import { MIRROR_STATES } from '../../mirror/file/state.ts';
import { MOST_COUNTED } from '../../mirror/file/suspicion.ts';
import { CAUSE_CODES } from '../state/causes.ts';
import type { Verdict } from '../state/state.ts';
import type { StreamReport } from '../../inbox/report.ts';
import type { SampledState } from '../state/state-sampler.ts';

export interface Shown {
  readonly sample: SampledState | null;
  readonly lastAcceptedAtMs: number | null;
  readonly mirror: () => Promise<Verdict>;
}

type Value = number | null | undefined;

export function createStateGauges(registry: Registry, now: () => number, shown: () => Shown): void {
  const registers = [registry];
  const gauge = (name: string, help: string, value: (shown: Shown) => Value): void => {
    new Gauge({
      name: `stock_mirror_${name}`,
      help,
      registers,
      collect() {
        // 0 would be wrong for unknown.
        this.set(value(shown()) ?? Number.NaN);
      },
    });
  };
  const oneOf = <K extends string>(
    [name, label, help]: readonly [name: string, label: string, help: string],
    values: readonly K[],
    isOn: (mirror: Verdict, value: K) => boolean,
  ): void => {
    new Gauge({
      name: `stock_mirror_${name}`,
      help,
      labelNames: [label],
      registers,
      async collect() {
        const mirror = await shown().mirror();
        for (const value of values) this.set({ [label]: value }, isOn(mirror, value) ? 1 : 0);
      },
    });
  };
  const age = (atMs: Value): number | null =>
    atMs === null || atMs === undefined ? null : Math.max(0, now() - atMs) / 1_000;
  const counted = (name: string, help: string, of: (sample: SampledState) => Value): void =>
    gauge(name, help, ({ sample }) => (sample === null ? null : of(sample)));

  oneOf(
    ['state', 'state', 'The state of the mirror: 1 for the current state, else 0.'],
    MIRROR_STATES,
    (mirror, state) => mirror.state === state,
  );
  oneOf(['cause', 'code', '1 while the cause holds (docs/causes.md).'], CAUSE_CODES, ({ causes }, code) =>
    causes.some((cause) => cause.code === code),
  );
  new Gauge({
    name: 'stock_mirror_sellable',
    help:
      'Quantities that a program may sell, by whether they are trusted. If more than ' +
      `${MOST_COUNTED} are not, trusted="0" is ${MOST_COUNTED + 1} and trusted="1" is NaN.`,
    labelNames: ['trusted'],
    registers,
    async collect() {
      const { sample, mirror } = shown();
      const { total, trusted: sampled } = sample?.status.sellable ?? {
        total: Number.NaN,
        trusted: Number.NaN,
      };
      // The sample may be older than the state: it is the last one while the mirror's file cannot be read.
      const isStale = sample !== null && (await mirror()).state === 'stale';
      const trusted = isStale ? 0 : sampled;
      this.set({ trusted: '1' }, trusted ?? Number.NaN);
      this.set({ trusted: '0' }, trusted === null ? MOST_COUNTED + 1 : total - trusted);
    },
  });
  counted('open_gaps', 'Gaps that wait for a late delivery or a read.', ({ status }) => status.open_gaps);
  counted('pending_reads', 'Products waiting to be read.', ({ status }) => status.pending_reads);
  counted('failing_reads', 'Products whose last read failed.', ({ status }) => status.failing_reads);
  counted('oldest_verified_age_seconds', 'Age of the oldest product read.', ({ status }) =>
    age(status.oldest_verified_at),
  );
  counted('full_read_age_seconds', 'Time since the last full read; NaN: none yet.', ({ status }) =>
    age(status.last_full_sync_at),
  );
  new Gauge({
    name: 'stock_mirror_full_read_differences',
    help: 'Values that the last full read corrected, by probable reason; NaN: none yet.',
    labelNames: ['reason'],
    registers,
    collect() {
      const proof = shown().sample?.status.last_full_read ?? null;
      for (const reason of DRIFT_REASONS) {
        this.set({ reason }, proof === null ? Number.NaN : (proof.by_reason[reason] ?? 0));
      }
    },
  });
  gauge(
    'last_delivery_age_seconds',
    'Time since a webhook of the store was last accepted, without those of `stock-mirror send`; NaN: none yet.',
    (at) => age(at.lastAcceptedAtMs),
  );
  counted(
    'seconds_behind',
    'Age of the first delivery in the inbox that is not applied yet; 0: all are applied.',
    ({ lag }) => age(lag.sinceMs) ?? 0,
  );
  counted('database_bytes', 'Size of the database.', ({ databaseBytes }) => databaseBytes);
  counted('wal_bytes', 'Size of the database’s write-ahead log.', ({ walBytes }) => walBytes);
  counted(
    'disk_free_bytes',
    'Free space on the database’s disk, for an unprivileged user.',
    ({ diskFreeBytes }) => diskFreeBytes,
  );
  counted('sample_age_seconds', 'Age of the values that come from the database.', ({ atMs }) => age(atMs));
}

export function createStreamGauges(
  registry: Registry,
  now: () => number,
  stream: () => StreamReport | null,
): void {
  const gauge = (name: string, help: string, value: () => number): void => {
    new Gauge({
      name: `stock_mirror_stream_backlog_${name}`,
      help,
      registers: [registry],
      collect() {
        this.set(value());
      },
    });
  };
  gauge(
    'rows',
    'Deliveries in the inbox that are not in the stream yet.',
    () => stream()?.unpublishedRows ?? Number.NaN,
  );
  gauge('age_seconds', 'Age of the oldest of them; 0: none waits.', () => {
    const sinceMs = stream()?.unpublishedSinceMs ?? null;
    return sinceMs === null ? 0 : Math.max(0, now() - sinceMs) / 1_000;
  });
}
