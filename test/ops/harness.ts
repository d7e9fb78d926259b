import { request } from 'node:http';
import { onTestFinished } from 'vitest';
import type { RemovalDecision } from '../../src/core/input.ts';
import { listen } from '../../src/platform/listen.ts';
import { createOpsApp } from '../../src/ops/app.ts';
import type { Operator, OpsDeps } from '../../src/ops/shared/operator.ts';
import { beginCatalogueRun, beginProductRun } from '../../src/reconcile/runs.ts';
import { detail, readInput } from '../mirror/mirror-file.ts';
import { log, type DirectDatabases } from '../reconcile/mirror.ts';
import { present } from '../shared/present.ts';
import { heartbeat, REPORT } from './reported.ts';
import { unwatched } from './watched.ts';

export const TOKEN = '0123456789abcdef-long';

export interface Ops {
  readonly url: string;
  readonly port: number;
  ask(path: string, options?: AskOptions): Promise<Answer>;
  stop(): Promise<void>;
}

interface AskOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly localAddress?: string;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  readonly json: unknown;
}

const DRAIN_MS = 1_500;
/** A heartbeat may lie 10 s in the future, so that one outlasts a slow answer by almost 20 s. */
const AHEAD_MS = 9_000;

export function opsApp(
  { mirror }: Pick<DirectDatabases, 'mirror'>,
  over: Partial<OpsDeps> = {},
): ReturnType<typeof createOpsApp> {
  const deps = { mirror, now: Date.now, log };
  const operator = over.operator ?? {
    resync: async (productIds) => ({
      ...(await (productIds === null
        ? beginCatalogueRun(deps, 'operator')
        : beginProductRun(deps, productIds))),
      joined: false,
    }),
    blocked: null,
    verificationBound: null,
    readsUnderWay: 0,
  };
  return createOpsApp({
    reader: mirror,
    writer: mirror,
    operator,
    token: null,
    readToken: null,
    namedBySettings: new Map(),
    commandOf: (command) => command,
    database: { path: '/srv/mirror.db', lockId: '7:9' },
    ...unwatched({ reader: over.reader ?? mirror, writer: mirror }, () => operator.blocked),
    now: Date.now,
    log,
    stopping: new AbortController().signal,
    ...over,
  });
}

export async function startOps(
  databases: Pick<DirectDatabases, 'mirror'>,
  over: Partial<OpsDeps> = {},
): Promise<Ops> {
  const stopping = new AbortController();
  const watched = unwatched(
    { reader: over.reader ?? databases.mirror, writer: databases.mirror },
    () => over.operator?.blocked ?? null,
  );
  const report = { ...REPORT, accepted: { count: 1, lastAtMs: Date.now() } };
  watched.watch.received(heartbeat(Date.now(), report), report);
  // A reader that fails has no state to write.
  const beat = (): Promise<void> =>
    over.watch === undefined
      ? watched.watch.beat(Date.now() + AHEAD_MS).catch(() => undefined)
      : Promise.resolve();
  // The first one takes longer, which could change the order of requests.
  await beat();
  const app = opsApp(databases, { stopping: stopping.signal, ...watched, ...over });
  const listener = await listen(app, { host: '127.0.0.1', port: 0 });
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopping.abort();
    return (stopped ??= listener.stop(DRAIN_MS));
  };
  onTestFinished(stop);
  return {
    url: `http://127.0.0.1:${listener.port}`,
    port: listener.port,
    ask: async (path, options) => {
      await beat();
      return ask(listener.port, path, options);
    },
    stop,
  };
}

/** `name=value` of the cookie that an answer sets. */
export function cookieOf(answer: Answer): string {
  const [line = ''] = answer.headers['set-cookie'] ?? [];
  return present(line.split(';')[0]);
}

interface Order {
  readonly productIds: readonly string[] | null;
  readonly decision: RemovalDecision | null;
}

/** Begins a run for every order. */
export function operatorOf(
  databases: DirectDatabases,
  over: Partial<Operator> = {},
): Operator & { readonly orders: Order[] } {
  const orders: Order[] = [];
  return {
    orders,
    resync: async (productIds, decision) => {
      orders.push({ productIds, decision });
      return {
        ...(await beginCatalogueRun({ mirror: databases.mirror, now: Date.now, log }, 'operator')),
        joined: false,
      };
    },
    blocked: null,
    verificationBound: null,
    readsUnderWay: 0,
    ...over,
  };
}

/** Two reads of every product miss it, more than 30 s apart, and a list does not name it: the guard holds its removal. */
export async function holdRemovals(
  databases: DirectDatabases,
  count = 3,
  levels: Readonly<Record<string, number>> = { 1: 5 },
): Promise<void> {
  for (const [secondsAgo, isThere] of [
    [200, true],
    [100, false],
    [40, false],
  ] as const) {
    for (let id = 1; id <= count; id += 1) {
      const found = isThere ? detail(`${id}`, [{ id: `${id}00`, levels }]) : null;
      const sentAtMs = Date.now() - secondsAgo * 1_000;
      await databases.mirror.append(readInput(`${id}`, found, { sentAtMs }));
    }
    const listedAtMs = Date.now() - (secondsAgo - 9) * 1_000;
    await databases.mirror.append({ kind: 'list_completed', atMs: listedAtMs, sentAtMs: listedAtMs });
  }
}

function ask(
  port: number,
  path: string,
  { method, headers, body, localAddress }: AskOptions = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    request(
      {
        host: '127.0.0.1',
        ...(localAddress === undefined ? {} : { localAddress }),
        port,
        path,
        method: method ?? (body === undefined ? 'GET' : 'POST'),
        headers: { connection: 'close', ...headers },
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        response.on('end', () => {
          const isJson = response.headers['content-type']?.startsWith('application/json') === true;
          const { statusCode: status = 0, headers: answered } = response;
          resolve({
            status,
            headers: answered,
            text,
            json: isJson && text !== '' ? JSON.parse(text) : undefined,
          });
        });
        response.on('error', reject);
      },
    )
      .on('error', reject)
      .end(body);
  });
}
