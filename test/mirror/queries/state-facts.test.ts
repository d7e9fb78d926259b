/** The state that follows from the file (docs/operating.md#states). */
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import { isIsolated } from '../../../src/core/runs.ts';
import { stateFacts } from '../../../src/mirror/queries/state-facts.ts';
import { status } from '../../../src/mirror/queries/status.ts';
import { firstCause, stateOf, verdictOf } from '../../../src/ops/state/state.ts';
import { wellAt } from '../../ops/state/well.ts';
import { missedAt } from '../../core/builders.ts';
import { openBoth } from '../direct-writer.ts';
import { beats, delivery, detail, DirectWriter, item, newPath, T0, values } from '../mirror-file.ts';

const MINUTE_MS = 60_000;

const tea = (qty: number) => detail('10', [{ id: '100', levels: { 1: qty } }]);

function quiet(): DirectWriter {
  const writer = new DirectWriter();
  writer.read('10', tea(5), T0);
  writer.db.exec('UPDATE service_state SET last_full_sync_at_ms = 1');
  return writer;
}

const state = ({ db }: DirectWriter, nowMs = T0): string =>
  stateOf({ nowMs, file: stateFacts(db, { nowMs }), own: wellAt(nowMs), pendingReads: 0 }).state;

/** The causes always have the first one of the state. */
const shown = ({ db }: DirectWriter): string[] =>
  values<string>(
    db,
    `SELECT state || ' ' || coalesce(state_cause, '') || '|' || causes FROM mirror_status`,
  ).map((row) => {
    const [words = '', causes = ''] = row.split('|');
    const found = verdictOf(causes);
    expect(`${found.state} ${firstCause(found) ?? ''}`).toBe(words);
    return words;
  });

test('stays live while a new product waits to be read: it has missed nothing', () => {
  const writer = quiet();
  writer.append(missedAt(T0 + 1_000));
  writer.read('10', tea(5), T0 + 10_000);
  const atMs = T0 + 11_000;
  writer.append({ kind: 'listed', atMs, sentAtMs: atMs, productIds: ['10', '11'], lookup: false });
  expect(values(writer.db, 'SELECT read_at_ms < 0 FROM products')).toEqual([0, 1]);
  expect(state(writer)).toBe('live');
});

test('is catching up until every product was read, also after downtime', () => {
  const writer = quiet();
  writer.db.exec('UPDATE service_state SET last_full_sync_at_ms = NULL');
  expect(state(writer)).toBe('catching_up');
  writer.db.exec('UPDATE service_state SET last_full_sync_at_ms = 1');
  expect(state(writer)).toBe('live');
  writer.append(missedAt(T0 + 1_000));
  expect(state(writer)).toBe('catching_up');
  writer.read('10', tea(5), T0 + 10_000);
  expect(state(writer)).toBe('live');
});

test('a suspect product that has waited for a quarter of an hour is a cause, and the state stays live', () => {
  const writer = quiet();
  const overdueAt = (nowMs: number): boolean => {
    expect(state(writer, nowMs)).toBe('live');
    return stateFacts(writer.db, { nowMs }).isReadOverdue;
  };
  writer.requestReads('listed', ['10'], T0);
  expect(overdueAt(T0 + 16 * MINUTE_MS)).toBe(false);
  writer.requestReads('not_stored', ['10'], T0);
  expect(overdueAt(T0 + 15 * MINUTE_MS)).toBe(false);
  expect(overdueAt(T0 + 15 * MINUTE_MS + 1)).toBe(true);
});

test('knows the oldest read since the barrier, without those given up', () => {
  const writer = quiet();
  const oldest = () => stateFacts(writer.db, { nowMs: T0 }).oldestReadAtMs;
  writer.read('20', detail('20', [{ id: '200', levels: { 1: 1 } }]), T0 + 1_000);
  expect(oldest()).toBe(T0);
  writer.db
    .exec(`INSERT INTO due_reads (product_id, reason, priority, is_suspect, made_at_ms, first_made_at_ms,
    not_before_ms, failed_at_ms, given_up) VALUES ('10', 'stale', 4, 0, 0, 0, 0, 1, 1)`);
  expect(oldest()).toBe(T0 + 1_000);
  writer.append(missedAt(T0 + 2_000));
  expect(oldest()).toBeNull();
});

describe('a refused read', () => {
  function kept(products: number): DirectWriter {
    const writer = new DirectWriter();
    for (let n = 0; n < products; n += 1) {
      writer.read(String(n), detail(String(n), [{ id: `1${n}`, levels: { 1: 5 } }]), T0);
    }
    writer.db.exec('UPDATE service_state SET last_full_sync_at_ms = 1');
    return writer;
  }

  test('leaves only its rows suspect and the mirror live', () => {
    const writer = kept(2);
    writer.append(missedAt(T0 + 1_000));
    writer.giveUp('0');
    expect(state(writer)).toBe('catching_up');
    writer.read('1', detail('1', [{ id: '11', levels: { 1: 5 } }]), T0 + 10_000);
    expect(state(writer)).toBe('live');
    expect(status(writer.db)).toMatchObject({ parked_reads: 1, pending_reads: 1, suspect_count: 1 });
    expect(values(writer.db, 'SELECT variant_id FROM mirror_stock WHERE suspect = 1')).toEqual(['10']);
    writer.command('retryFailures', undefined);
    expect(state(writer)).toBe('live');
  });

  test.each([0, 1, 2, 3, 19, 20, 39, 40, 41, 60])('of %i products is judged as by a run', (products) => {
    const writer = kept(products);
    for (let givenUp = 0; givenUp <= Math.min(products, 5); givenUp += 1) {
      expect([givenUp, state(writer)]).toEqual([givenUp, isIsolated(givenUp, products) ? 'live' : 'stale']);
      writer.giveUp(String(givenUp));
    }
  });
});

describe('mirror_status shows', () => {
  test('nothing but stale before the first heartbeat and 10 s after the last', () => {
    const writer = quiet();
    expect(shown(writer)).toEqual(['stale stopped']);
    beats(writer.db, Date.now());
    expect(shown(writer)).toEqual(['live ']);
    beats(writer.db, Date.now() - 11_000);
    expect(shown(writer)).toEqual(['stale stopped']);
  });

  test('stale to a reader with immutable=1, which ignores the write-ahead log', () => {
    const writer = new DirectWriter(openBoth(newPath()));
    const { db } = writer;
    beats(db, Date.now() - 60_000);
    db.pragma('wal_checkpoint(TRUNCATE)');
    beats(db, Date.now());
    const shownWith = (option: string): unknown => {
      const url = pathToFileURL(db.name);
      url.searchParams.set(...(option.split('=') as [string, string]));
      const reader = new DatabaseSync(url, { readOnly: true });
      const row = reader.prepare('SELECT state FROM mirror_status').get();
      reader.close();
      return row?.['state'];
    };
    expect([shownWith('immutable=1'), shownWith('mode=ro')]).toEqual(['stale', 'live']);
    db.close();
  });

  test('the state of the last heartbeat', () => {
    const writer = quiet();
    writer.beat('stale', 'credentials');
    expect(shown(writer)).toEqual(['stale credentials']);
    writer.beat('catching_up', 'first_read');
    expect(shown(writer)).toEqual(['catching_up first_read']);
  });

  test('no live state together with a later barrier', () => {
    const writer = quiet();
    writer.beat();
    const { trustedAfterMs } = stateFacts(writer.db, { nowMs: T0 });
    writer.deliver(delivery('a', item({ update_time: T0 })), T0);
    expect(shown(writer)).toEqual(['live ']);
    writer.append(missedAt(T0 + 1_000));
    expect(shown(writer)).toEqual(['catching_up downtime']);
    // This heartbeat was decided before the barrier, and is written after it.
    expect(beats(writer.db, Date.now(), { trustedAfterMs })).toBe(false);
    expect(beats(writer.db, Date.now(), { epoch: 'another' })).toBe(false);
    expect(shown(writer)).toEqual(['catching_up downtime']);
    expect(beats(writer.db, Date.now())).toBe(true);
    expect(shown(writer)).toEqual(['live ']);
  });

  test('no trusted state together with a way in that is not proven', () => {
    const writer = quiet();
    writer.deliver(delivery('a', item({ update_time: T0 })), T0);
    writer.append({ kind: 'secrets', atMs: T0, fingerprints: ['a'] });
    writer.beat();
    expect(shown(writer)).toEqual(['live ']);
    writer.append({ kind: 'secrets', atMs: T0 + 1_000, fingerprints: ['b'] });
    expect(shown(writer)).toEqual(['catching_up unproven']);
    // This heartbeat was decided before the secrets changed.
    expect(beats(writer.db, Date.now(), { wayIn: 'proven' })).toBe(false);
    expect(shown(writer)).toEqual(['catching_up unproven']);
  });

  test('no other state together with missing webhooks', () => {
    const writer = quiet();
    writer.deliver(delivery('a', item({ update_time: T0 })), T0);
    writer.beat();
    writer.read('10', tea(5), T0 + 10_000);
    writer.read('10', tea(4), T0 + 20_000);
    writer.append({ kind: 'untold_due', atMs: T0 + 60_000 });
    expect(shown(writer)).toEqual(['stale webhooks_missing']);
    expect(beats(writer.db, Date.now(), { wayIn: 'proven' })).toBe(false);
    expect(shown(writer)).toEqual(['stale webhooks_missing']);
  });
});
