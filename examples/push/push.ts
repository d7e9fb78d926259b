/**
 * Follows the mirror's change feed and POSTs an event for what matters, signed by the Standard Webhooks specification.
 * Usage: README.md.
 *
 * May be killed at any moment: the position is saved once the events of a page were accepted, so that a restart sends
 * that page again, with the same ids. The events of a stock level are sent one after the other; levels do not wait for
 * each other within a page.
 */
import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

const {
  STOCK_MIRROR_URL: mirror = 'http://127.0.0.1:8788',
  STOCK_MIRROR_TOKEN: token,
  PUSH_URL: url,
  PUSH_SECRET: secret,
  PUSH_EVENTS: eventList = 'low:0,back',
  PUSH_POSITION: positionPath = 'push-position.json',
} = process.env;

/** Largest number of changes that a restart repeats. */
const LIMIT = 100;
/** Many proxies cut an answer that takes longer than 30 s. */
const WAIT_S = 25;
const AT_ONCE = 8;
const TIMEOUT_MS = 15_000;
const FIRST_BACKOFF_MS = 500;
const LONGEST_BACKOFF_MS = 60_000;

interface Change {
  readonly seq: number;
  readonly variant_id: string;
  readonly warehouse_id: string | null;
  readonly old_qty: number | null;
  readonly new_qty: number | null;
  readonly recorded_at: number;
}
interface Changes {
  readonly changes: readonly Change[];
  readonly next: number;
}
interface StockRow {
  readonly variant_id: string;
  readonly warehouse_id: string;
  readonly available_qty: number;
  readonly change_seq: number;
  readonly as_of: number;
}
interface Stock {
  readonly epoch: string;
  readonly last_seq: number;
  readonly stock: readonly StockRow[];
  readonly next: string | null;
  readonly has_more: boolean;
}
interface Status {
  readonly epoch?: string;
  readonly last_seq?: number;
  readonly last_full_sync_at?: number | null;
}
interface Position {
  readonly epoch: string;
  readonly seq: number;
}

/** Which changes make an event of which type. A level that is new has no old quantity, one that is removed no new one. */
function filterOf(name: string): { readonly type: string; readonly matches: (change: Change) => boolean } {
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

if (url === undefined || secret === undefined) throw new Error('set PUSH_URL and PUSH_SECRET');
const filters = eventList.split(',').map(filterOf);
/** While a secret is replaced there are two, separated by a space: the receiver accepts either signature. */
const keys = secret.split(' ').map((each) => {
  if (!/^whsec_[\w+/]{32,}={0,2}$/.test(each))
    throw new Error('PUSH_SECRET: not whsec_ and at least 24 bytes as base64');
  return Buffer.from(each.slice('whsec_'.length), 'base64');
});

/** The feed cannot continue from the position. */
class StartOver extends Error {}

async function get<T>(path: string, query: Readonly<Record<string, string | number>>): Promise<T> {
  const parameters = Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]);
  const response = await fetch(
    `${mirror.replace(/\/+$/, '')}${path}?${String(new URLSearchParams(parameters))}`,
    {
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout((WAIT_S + 30) * 1_000),
    },
  );
  const text = await response.text();
  if (response.ok) return JSON.parse(text) as T;
  if (response.status === 409 || response.status === 410) throw new StartOver(text);
  throw new Error(`${path} answered ${response.status}: ${text}`);
}

async function attempt(id: string, body: string): Promise<void> {
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

/** Tries until the receiver answers 2xx. A later event of the level could not be sent before this one anyway. */
async function post(id: string, body: string): Promise<void> {
  for (let backoffMs = FIRST_BACKOFF_MS; ; backoffMs = Math.min(2 * backoffMs, LONGEST_BACKOFF_MS)) {
    try {
      await attempt(id, body);
      return;
    } catch (error) {
      const { message, cause } = error as Error;
      console.error(`${id} not accepted: ${message} ${cause instanceof Error ? cause.message : ''}`);
    }
    await sleep(backoffMs * (0.5 + Math.random() / 2));
  }
}

/** Resolves when every event of the changes was accepted. */
async function push(epoch: string, changes: Iterable<Change>): Promise<void> {
  const levels = Map.groupBy(changes, levelOf).values();
  const worker = async (): Promise<void> => {
    // All workers take from one iterator: each level is one worker's.
    for (const level of levels)
      for (const change of level)
        for (const { type } of filters.filter(({ matches }) => matches(change))) {
          const timestamp = new Date(change.recorded_at).toISOString();
          await post(
            `${type.replace('.', '-')}-${epoch}-${change.seq}`,
            JSON.stringify({ type, timestamp, data: change }),
          );
        }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

function levelOf({ variant_id: variant, warehouse_id: warehouse }: Change): string {
  return `${variant}:${warehouse ?? ''}`;
}

function load(): Position | null {
  try {
    return JSON.parse(readFileSync(positionPath, 'utf8')) as Position;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

async function save(to: Position): Promise<Position> {
  await writeFile(`${positionPath}.new`, JSON.stringify(to), { flush: true });
  await rename(`${positionPath}.new`, positionPath);
  return to;
}

/** A mirror that has lost its file has few rows until it has read the whole store. */
async function readyMirror(): Promise<Position> {
  const { epoch, last_seq: seq, last_full_sync_at: syncedAt } = await get<Status>('/api/status', {});
  if (epoch === undefined || seq === undefined || typeof syncedAt !== 'number')
    throw new Error('the mirror has not read the whole store yet');
  return { epoch, seq };
}

/** Which changes were missed is unknown. Each level is pushed as it is, as if it had been new, where a filter matches. */
async function startOver(): Promise<Position> {
  const { epoch } = await readyMirror();
  const levels = new Map<string, Change>();
  let seq = Infinity;
  let lastSeq = 0;
  for (let after: string | null | undefined; after !== null;) {
    const page: Stock = await get('/api/stock', { limit: 1_000, ...(after === undefined ? {} : { after }) });
    if (page.epoch !== epoch) throw new Error('the mirror has begun a new epoch meanwhile');
    for (const { available_qty: qty, change_seq: changeSeq, as_of: at, ...row } of page.stock) {
      const change = {
        ...row,
        seq: changeSeq,
        old_qty: null,
        new_qty: qty,
        recorded_at: at,
        reason: 'started_over',
      };
      levels.set(levelOf(change), change);
    }
    lastSeq = page.last_seq;
    seq = Math.min(seq, lastSeq);
    after = page.has_more ? page.next : null;
  }
  // The pages were read one after the other. With what changed meanwhile, all levels are of one moment.
  while (seq < lastSeq) {
    const page: Changes = await get('/api/changes', { epoch, after: seq, limit: 1_000 });
    for (const change of page.changes) levels.set(levelOf(change), { ...change, old_qty: null });
    seq = page.next;
  }
  await push(epoch, levels.values());
  return { epoch, seq };
}

async function next({ epoch, seq }: Position): Promise<Position> {
  try {
    const page = await get<Changes>('/api/changes', {
      epoch,
      after: seq,
      limit: LIMIT,
      wait_seconds: WAIT_S,
    });
    await push(epoch, page.changes);
    return { epoch, seq: page.next };
  } catch (error) {
    if (!(error instanceof StartOver)) throw error;
    console.log(`starting over: ${error.message}`);
    return await startOver();
  }
}

for (let position = load(); ;) {
  try {
    // The first start pushes what happens from now on.
    position = await save(position === null ? await readyMirror() : await next(position));
  } catch (error) {
    console.error('not now:', error instanceof Error ? error.message : error);
    await sleep(1_000);
  }
}
