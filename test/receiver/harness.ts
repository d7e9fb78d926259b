/** A receiver on the test's thread, with a real port and a real inbox. */
import { request, type OutgoingHttpHeaders } from 'node:http';
import Database from 'better-sqlite3';
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import { inboxPath, openInboxReader, readReceiver } from '../../src/inbox/inbox-file.ts';
import { reportOf } from '../../src/inbox/inbox-view.ts';
import type { Missed } from '../../src/core/input.ts';
import { readMissed } from '../../src/inbox/missed.ts';
import type { ReceiverReport } from '../../src/inbox/report.ts';
import { hostTime, type HostTime } from '../../src/platform/host-time.ts';
import { listen } from '../../src/platform/listen.ts';
import type { PassedSocket } from '../../src/receiver/coverage.ts';
import { openInboxWriter, type InboxWriter } from '../../src/receiver/inbox-writer.ts';
import { Receiver } from '../../src/receiver/receiver.ts';
import type { PlainError } from '../../src/sqlite/errors.ts';
import type { Db } from '../../src/sqlite/open.ts';
import { signBody } from '../../src/store-api/signature.ts';
import { newPath } from '../mirror/mirror-file.ts';
import { present } from '../shared/present.ts';

export const SECRET = 'whsec_now';
export const PREVIOUS = 'whsec_before';

export interface Answer {
  readonly status: number;
  readonly body: string;
  readonly tookMs: number;
}

export interface StartedReceiver {
  readonly path: string;
  readonly receiver: Receiver;
  readonly inbox: InboxWriter;
  /** Reads the inbox. */
  readonly db: Db;
  readonly port: number;
  readonly log: readonly Record<string, unknown>[];
  readonly troubles: readonly (PlainError | null)[];
  readonly deaths: readonly Error[];
  /** Signed with the present secret unless headers say otherwise. */
  readonly post: (body: Uint8Array, headers?: OutgoingHttpHeaders) => Promise<Answer>;
  readonly ask: (method: string, path: string, headers?: OutgoingHttpHeaders) => Promise<Answer>;
  readonly missed: () => Missed[];
  /** Of the last heartbeat. */
  readonly report: () => ReceiverReport;
  readonly stop: () => Promise<void>;
}

interface Options {
  readonly path?: string;
  readonly host?: HostTime;
  readonly passed?: PassedSocket;
  readonly secrets?: readonly [string, ...string[]];
  /** Runs before each commit. */
  readonly beforeCommit?: (rows: Parameters<InboxWriter['append']>[0]) => void;
}

export async function startReceiver(options: Options = {}): Promise<StartedReceiver> {
  const { path = newPath(), host = hostTime(), passed = null, beforeCommit } = options;
  const { secrets = [SECRET, PREVIOUS] } = options;
  const log: Record<string, unknown>[] = [];
  const logger = pino(
    {},
    { write: (line: string) => void log.push(JSON.parse(line) as Record<string, unknown>) },
  );
  const troubles: (PlainError | null)[] = [];
  const deaths: Error[] = [];
  const inbox = openInboxWriter(path);
  const append = inbox.append.bind(inbox);
  inbox.append = (rows) => {
    beforeCommit?.(rows);
    append(rows);
  };
  const receiver = new Receiver(
    {
      inbox,
      host,
      log: logger,
      later: setImmediate,
      onCommit: () => undefined,
      onTrouble: (error) => void troubles.push(error),
      onDeath: (error) => void deaths.push(error),
      // Tests wait for reports.
      heartbeatEveryMs: 50,
    },
    false,
  );
  await receiver.start({
    host: '127.0.0.1',
    port: 0,
    passed: passed === null ? null : { fd: -1, ...passed },
    secrets,
    listen: (app, { host: address, port: given }) => listen(app, { host: address, port: given }),
  });
  let stopped: Promise<void> | null = null;
  const stop = (): Promise<void> => (stopped ??= receiver.stop().then(() => receiver.close()));
  onTestFinished(stop);
  const db = openInboxReader(path);
  onTestFinished(() => void db.close());
  const { port } = present(receiver.webhook);
  return {
    path,
    receiver,
    inbox,
    db,
    port,
    log,
    troubles,
    deaths,
    post: (body, headers = {}) =>
      send(port, {
        method: 'POST',
        path: '/webhooks',
        headers: { 'x-service-signature': signBody(SECRET, body), ...headers },
        pieces: [body],
      }),
    ask: (method, requestPath, headers = {}) =>
      send(port, { method, path: requestPath, headers, pieces: [] }),
    missed: () =>
      db
        .prepare<[], Buffer>("SELECT body FROM inbox WHERE kind = 'missed' ORDER BY seq")
        .pluck()
        .all()
        .map((body) => readMissed(body, 0)),
    report: () => present(reportOf(readReceiver(db))),
    stop,
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

/** Another program's write lock on the inbox. */
export function lockInbox({ path }: Pick<StartedReceiver, 'path'>): { release(): void } {
  const db = new Database(inboxPath(path));
  onTestFinished(() => void db.close());
  db.exec('BEGIN IMMEDIATE');
  return { release: () => void db.exec('COMMIT') };
}
