import { request, type OutgoingHttpHeaders } from 'node:http';
import Database from 'better-sqlite3';
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import { createIntakeApp, type Refusal } from '../../src/intake/app.ts';
import { createHeartbeat, type Heartbeat } from '../../src/intake/heartbeat.ts';
import { UnstoredDeliveries } from '../../src/intake/unstored.ts';
import { listen } from '../../src/platform/listen.ts';
import { inboxPath } from '../../src/inbox/inbox.ts';
import { signBody } from '../../src/store-api/signature.ts';
import { asError } from '../../src/platform/thrown.ts';
import type { Input } from '../mirror/direct-writer.ts';
import { allApplied, DirectWriter, readerDb, storeAt, type OpenStore } from '../mirror/mirror-file.ts';

export const SECRET = 'whsec_now';
export const PREVIOUS = 'whsec_before';

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly tookMs: number;
}

type Observed = Refusal | 'committed';

export interface Intake {
  readonly store: Files;
  readonly db: Database.Database;
  readonly port: number;
  readonly unstored: UnstoredDeliveries;
  readonly log: readonly Record<string, unknown>[];
  readonly observed: Observed[];
  /** Signed with the present secret unless headers say otherwise. */
  readonly post: (body: Uint8Array, headers?: OutgoingHttpHeaders) => Promise<Answer>;
  readonly ask: (method: string, path: string) => Promise<Answer>;
  readonly drop: () => void;
  readonly heartbeat: Heartbeat;
  readonly applied: () => Promise<void>;
}

/** Inbox and mirror on this thread. @param hasBegun whether its heartbeat has. */
export function startIntake(hasBegun = true): Promise<Intake> {
  const { db, writer } = new DirectWriter();
  const { inbox } = writer;
  const run = <T>(input: Input): Promise<T> => {
    const [result] = writer.commit([input]);
    return result?.ok === true ? Promise.resolve(result.value as T) : Promise.reject(asError(result?.error));
  };
  return listenOver(
    {
      path: db.name,
      inbox: {
        append: (body, arrivedAtMs) =>
          soon(() => {
            inbox.append([{ body, arrivedAtMs }]);
          }),
        beat: (heartbeat) => soon(() => inbox.beat(heartbeat)),
      },
      writer: {
        append: (input) => run({ kind: 'input', input }),
        command: (name, args) => run({ kind: 'command', name, args }),
      },
      applied: () => soon(() => void writer.commit([])),
    },
    hasBegun,
  );
}

const soon = <T>(work: () => T): Promise<T> => Promise.resolve().then(work);

export async function startThreads(): Promise<ThreadedIntake> {
  const store = await storeAt();
  const applied = async (): Promise<void> => {
    await allApplied(store);
  };
  return { ...(await listenOver({ ...store, applied })), store };
}

export interface ThreadedIntake extends Omit<Intake, 'store'> {
  readonly store: OpenStore;
}

interface Files {
  readonly path: string;
  readonly inbox: Pick<OpenStore['inbox'], 'append' | 'beat'>;
  readonly writer: Pick<OpenStore['writer'], 'append' | 'command'>;
  readonly applied: () => Promise<void>;
}

async function listenOver(store: Files, hasBegun = true): Promise<Intake> {
  const log: Record<string, unknown>[] = [];
  const observed: Observed[] = [];
  const logger = pino(
    {},
    { write: (line: string) => void log.push(JSON.parse(line) as Record<string, unknown>) },
  );
  const now = Date.now;
  const unstored = new UnstoredDeliveries({ writer: store.writer, now, log: logger });
  const heartbeat = createHeartbeat({
    target: {
      beat: (atMs) =>
        store.inbox.beat({ atMs, clockMs: atMs, missedSinceMs: null, changeSeq: 0, stream: null }),
      show: () => Promise.resolve(),
    },
    wallNow: now,
    log: logger,
  });
  if (hasBegun) heartbeat.begin();
  const app = createIntakeApp({
    inbox: store.inbox,
    unstored,
    secrets: [SECRET, PREVIOUS],
    now,
    heartbeat,
    observer: {
      committed: () => void observed.push('committed'),
      refused: (refusal) => void observed.push(refusal),
    },
    log: logger,
  });
  const listener = await listen(app, { host: '127.0.0.1', port: 0 });
  const { port } = listener;
  onTestFinished(async () => {
    await listener.stop(0);
    await unstored.stop();
    await heartbeat.stop();
  });
  return {
    store,
    db: readerDb(store.path),
    port,
    unstored,
    log,
    observed,
    heartbeat,
    applied: store.applied,
    post: (body, headers = {}) =>
      send(port, {
        method: 'POST',
        path: '/webhooks',
        headers: { 'x-service-signature': signBody(SECRET, body), ...headers },
        pieces: [body],
      }),
    drop: () => app.onUnread(null),
    ask: (method, path) => send(port, { method, path, headers: {}, pieces: [] }),
  };
}

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: OutgoingHttpHeaders;
  /** The body; more than one goes out in chunks. */
  readonly pieces: readonly Uint8Array[];
}

export function send(port: number, { method, path, headers, pieces }: Sent): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const startedMs = performance.now();
    const outgoing = request({ port, host: '127.0.0.1', method, path, headers, agent: false }, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('end', () =>
        resolve({
          status: incoming.statusCode ?? 0,
          body: Buffer.concat(chunks).toString(),
          tookMs: performance.now() - startedMs,
        }),
      );
    });
    outgoing.on('error', reject);
    const [only, ...more] = pieces;
    if (more.length > 0) for (const piece of pieces) outgoing.write(piece);
    outgoing.end(more.length === 0 ? only : undefined);
  });
}

export function lockInbox({ store }: Pick<ThreadedIntake, 'store'>): { release(): void } {
  const db = new Database(inboxPath(store.path));
  onTestFinished(() => void db.close());
  db.exec('BEGIN IMMEDIATE');
  return { release: () => void db.exec('COMMIT') };
}
