/**
 * Follows the mirror and POSTs an event for each change that matters, signed by the Standard Webhooks specification.
 * Usage: README.md.
 *
 * May be killed at any moment: events are stored with the position, in one transaction, and deleted once accepted.
 * Each stock level sends its events one after the other; levels do not wait for each other.
 */
import { createHmac } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { follow, type Batch, type Change, type Position } from 'stock-mirror/feed';

const {
  STOCK_MIRROR_URL: mirror = 'http://127.0.0.1:8788',
  STOCK_MIRROR_TOKEN: token,
  PUSH_URL: url,
  PUSH_SECRET: secret,
  PUSH_EVENTS: eventList = 'low:0,back',
  PUSH_STATE: statePath = 'push-state.db',
  PUSH_TRIES: triesText = '8',
  PUSH_TIMEOUT_SECONDS: timeoutText = '15',
} = process.env;

const AT_ONCE = 8;
const TIMEOUT_MS = 1_000 * wholeNumber('PUSH_TIMEOUT_SECONDS', timeoutText);
const FIRST_BACKOFF_MS = 500;
const LONGEST_BACKOFF_MS = 60_000;
/** After this many failures while others are accepted, an event is set aside. */
const TRIES = wholeNumber('PUSH_TRIES', triesText);
/** With more events waiting, the mirror's changes wait in the mirror. */
const MOST_WAITING = 100_000;
const IDLE_MS = 100;

const db = new DatabaseSync(statePath, { timeout: 5_000 });
db.exec(`
  PRAGMA journal_mode = WAL;
  CREATE TABLE IF NOT EXISTS events (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL, level TEXT NOT NULL, body TEXT NOT NULL, set_aside TEXT
  );
  CREATE INDEX IF NOT EXISTS events_waiting ON events (level, number) WHERE set_aside IS NULL;
  CREATE TABLE IF NOT EXISTS position (
    id INTEGER PRIMARY KEY CHECK (id = 1), epoch TEXT NOT NULL, seq INTEGER NOT NULL
  );
`);

function wholeNumber(name: string, text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1) throw new Error(`${name}: not a whole number from 1: ${text}`);
  return number;
}

/** Selects the changes that make an event. A new level has no old quantity, and a removed one no new quantity. */
function filterOf(name: string): { readonly type: string; readonly matches: (change: Moved) => boolean } {
  const low = /^low:(-?\d+)$/.exec(name);
  if (low !== null) {
    const least = Number(low[1]);
    return {
      type: 'stock.low',
      matches: ({ old_qty: old, new_qty: now }) => (old ?? Infinity) > least && (now ?? -Infinity) <= least,
    };
  }
  if (name === 'back')
    return {
      type: 'stock.back',
      matches: ({ old_qty: old, new_qty: now }) => (old ?? 0) <= 0 && (now ?? 0) > 0,
    };
  if (name === 'changed') return { type: 'stock.changed', matches: () => true };
  throw new Error(`PUSH_EVENTS: ${name} is none of low:N, back, changed`);
}

type Moved = Pick<Change, 'seq' | 'variant_id' | 'warehouse_id' | 'old_qty' | 'new_qty'>;

/** After starting over the changes are unknown: each level is pushed as it is, as if it had been new. */
function movesOf(batch: Batch): readonly Moved[] {
  if (batch.kind === 'changes') return batch.changes;
  if (batch.kind === 'trust' || batch.why === 'first') return [];
  return batch.rows.map(({ available_qty: qty, change_seq: seq, ...row }) => ({
    ...row,
    seq,
    old_qty: null,
    new_qty: qty,
    reason: 'started_over',
  }));
}

/** A restart begins after the position, so an interrupted snapshot is stored with its last part. */
async function take(): Promise<void> {
  const filters = eventList.split(',').map(filterOf);
  const put = db.prepare('INSERT INTO events (id, level, body) VALUES (?, ?, ?)');
  const move = db.prepare('INSERT OR REPLACE INTO position VALUES (1, ?, ?)');
  const waiting = db.prepare('SELECT count(*) AS many FROM events WHERE set_aside IS NULL');
  const stored = db.prepare('SELECT epoch, seq FROM position').get() as unknown as Position | undefined;
  const onProblem = ({ message }: Error): void => console.error('not now:', message);
  let parts: Moved[] = [];
  for await (const batch of follow({ url: mirror, token, position: stored ?? null, onProblem })) {
    if (batch.kind === 'snapshot' && batch.isFirst) {
      console.log(`starting over: ${batch.why}`);
      parts = [];
    }
    parts.push(...movesOf(batch));
    if (batch.position === null || batch.kind === 'trust') continue;
    const { epoch, seq } = batch.position;
    db.exec('BEGIN IMMEDIATE');
    for (const data of parts)
      for (const { type } of filters.filter(({ matches }) => matches(data))) {
        const id = `${type.replace('.', '-')}-${epoch}-${data.seq}`;
        const level = `${data.variant_id}:${data.warehouse_id ?? ''}`;
        put.run(id, level, JSON.stringify({ type, timestamp: new Date().toISOString(), data }));
      }
    move.run(epoch, seq);
    db.exec('COMMIT');
    parts = [];
    while (Number(waiting.get()?.['many']) > MOST_WAITING) await sleep(IDLE_MS);
  }
}

interface Event {
  readonly number: number;
  readonly id: string;
  readonly level: string;
  readonly body: string;
}

async function attempt({ id, body }: Event, keys: readonly Buffer[]): Promise<void> {
  const timestamp = Math.floor(Date.now() / 1_000);
  const signatures = keys.map(
    (key) => `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`,
  );
  const response = await fetch(String(url), {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': signatures.join(' '),
    },
    body,
    redirect: 'manual',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`answered ${response.status}`);
}

/** Sends the oldest event of every level, at most AT_ONCE at a time. */
async function send(keys: readonly Buffer[]): Promise<never> {
  const oldest = db.prepare(
    'SELECT min(number) AS number, id, level, body FROM events WHERE set_aside IS NULL GROUP BY level ORDER BY number',
  );
  const remove = db.prepare('DELETE FROM events WHERE number = ?');
  const setAside = db.prepare('UPDATE events SET set_aside = ? WHERE number = ?');
  /** Levels whose first event has failed. While the receiver is away, `accepted` does not grow from failure to failure. */
  const failing = new Map<string, { tries: number; atMs: number; accepted: number }>();
  /** Levels whose last event was set aside: the next one has one try, since the receiver may refuse the whole level. */
  const refused = new Set<string>();
  const sending = new Set<string>();
  let accepted = 0;

  async function deliver(event: Event): Promise<void> {
    const acceptedBefore = failing.get(event.level)?.accepted ?? accepted;
    try {
      await attempt(event, keys);
      remove.run(event.number);
      accepted += 1;
      failing.delete(event.level);
      refused.delete(event.level);
    } catch (error) {
      const { message, cause } = error as Error;
      const why = `${message} ${cause instanceof Error ? cause.message : ''}`;
      console.error(`${event.id} not accepted: ${why}`);
      const tries = (failing.get(event.level)?.tries ?? 0) + 1;
      const backoffMs = Math.min(FIRST_BACKOFF_MS * 2 ** (tries - 1), LONGEST_BACKOFF_MS);
      const most = refused.has(event.level) ? 1 : TRIES;
      if (tries >= most && accepted > acceptedBefore) {
        setAside.run(why, event.number);
        console.error(`${event.id} is set aside: node push.ts resend ${event.id}`);
        failing.delete(event.level);
        refused.add(event.level);
      } else {
        const atMs = Date.now() + backoffMs * (0.5 + Math.random() / 2);
        failing.set(event.level, { tries, atMs, accepted });
      }
    } finally {
      sending.delete(event.level);
    }
  }

  for (;;) {
    // Their events were read before the answers.
    const busy = new Set(sending);
    for (const event of oldest.all() as unknown as Event[]) {
      while (sending.size >= AT_ONCE) await sleep(1);
      if (busy.has(event.level) || (failing.get(event.level)?.atMs ?? 0) > Date.now()) continue;
      sending.add(event.level);
      void deliver(event);
    }
    await sleep(IDLE_MS);
  }
}

const [command, ...ids] = process.argv.slice(2);
if (command === 'list') {
  for (const { id, set_aside: why } of db
    .prepare('SELECT * FROM events WHERE set_aside IS NOT NULL')
    .iterate())
    console.log(`${String(id)}: ${String(why)}`);
} else if (command === 'resend') {
  const again = db.prepare('UPDATE events SET set_aside = NULL WHERE set_aside IS NOT NULL AND id = ?');
  // At once, so that those of one level are sent in their order.
  db.exec('BEGIN IMMEDIATE');
  const lines = ids.map((id) => `${id}: ${again.run(id).changes === 0 ? 'not set aside' : 'is sent again'}`);
  db.exec('COMMIT');
  for (const line of lines) console.log(line);
} else {
  if (url === undefined || secret === undefined) throw new Error('set PUSH_URL and PUSH_SECRET');
  /** While a secret is replaced there are two, separated by a space: the receiver accepts either signature. */
  const keys = secret.split(' ').map((each) => {
    if (!/^whsec_[\w+/]{32,}={0,2}$/.test(each))
      throw new Error('PUSH_SECRET: not whsec_ and at least 24 bytes as base64');
    return Buffer.from(each.slice('whsec_'.length), 'base64');
  });
  await Promise.all([take(), send(keys)]);
}
