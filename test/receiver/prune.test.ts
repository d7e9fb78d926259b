/** Which rows of the inbox a receiver deletes, on virtual time (docs/architecture.md#pruning). */
import { writeFileSync } from 'node:fs';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { openInboxReader } from '../../src/inbox/inbox-file.ts';
import { openInboxWriter } from '../../src/receiver/inbox-writer.ts';
import { realReceiver, runReceiver, type ReceiverSettings } from '../../src/receiver/run-receiver.ts';
import { signBody, TEST_HEADER } from '../../src/store-api/signature.ts';
import { appended } from '../mirror/direct-writer.ts';
import { delivery, item, newPath, T0, values } from '../mirror/mirror-file.ts';
import { present } from '../shared/present.ts';
import { HOSTS } from '../simulation/globals.ts';
import { incomingOf } from '../simulation/incoming.ts';
import { newLife } from '../simulation/virtual-time.ts';
import { Machines } from '../stream/host.ts';

const SECRET = 'secret';
const RETENTION_DAYS = 30;
const DAY_MS = 24 * 60 * 60_000;
/** Longer than the receiver waits before it prunes. */
const UNTIL_PRUNED_MS = 61_000;

type Fetch = (request: Request, bindings: unknown) => Promise<Response>;
type StreamSettings = NonNullable<ReceiverSettings['stream']>;

const STREAM: StreamSettings = {
  servers: [],
  name: 'stock-mirror',
  user: null,
  password: null,
  caFile: null,
  isConsumed: false,
};

interface Given {
  readonly stream?: StreamSettings | null;
  /** A file at the mirror's path. */
  readonly hasMirrorFile?: boolean;
  readonly isStreamAway?: boolean;
  /** How far the host's clock is ahead of the store's. */
  readonly aheadMs?: number;
  /** `stock-mirror send` sent the webhook. */
  readonly isTest?: boolean;
}

/**
 * A host whose inbox has rows of 40, 31 and 29 days ago takes a webhook.
 * @returns the numbers of these rows that are left after the first pruning.
 */
async function leftBy(given: Given): Promise<number[]> {
  const { stream = STREAM, hasMirrorFile = false, isStreamAway = false, aheadMs = 0, isTest = false } = given;
  const machines = new Machines();
  const databasePath = newPath();
  if (hasMirrorFile) writeFileSync(databasePath, 'of a mirror');
  const before = openInboxWriter(databasePath);
  const ages = [40, 31, 29].map((days) => ({
    body: delivery(`${days} days ago`, item()),
    arrivedAtMs: T0 + aheadMs - days * DAY_MS,
  }));
  before.append(appended(ages));
  before.close();
  const life = newLife();
  onTestFinished(() => life.end());
  const ports: Fetch[] = [];
  const running = await HOSTS.run({ life, wallOffsetMs: aheadMs }, () =>
    runReceiver(
      {
        databasePath,
        webhook: { host: '127.0.0.1', port: 0 },
        secrets: [SECRET],
        stream,
        retentionDays: RETENTION_DAYS,
      },
      {
        log: pino({ level: 'silent' }),
        onCommit: () => undefined,
        onTrouble: () => undefined,
        onDeath: () => undefined,
      },
      {
        ...realReceiver(),
        host: {
          wallMs: Date.now,
          sinceBootMs: () => machines.time.nowMs - T0 + 60_000,
          monotonicMs: () => machines.time.nowMs - T0,
          bootId: 'boot',
        },
        listen: (app) => {
          ports.push(app.fetch as Fetch);
          return Promise.resolve({
            host: '',
            port: 0,
            isQueueFull: () => false,
            stop: () => Promise.resolve(),
          });
        },
        later: setImmediate,
        connectStream: () =>
          isStreamAway
            ? Promise.reject(new Error('no server is reached'))
            : Promise.resolve(machines.servers.connect()),
      },
    ),
  );
  onTestFinished(() => running.close());
  const body = delivery('now', item());
  const headers = new Headers({ 'x-service-signature': signBody(SECRET, body) });
  if (isTest) headers.set(TEST_HEADER, '1');
  const request = new Request('http://127.0.0.1/webhooks', { method: 'POST', headers });
  const { status } = await present(ports[0])(request, { incoming: incomingOf(request, body) });
  expect(status).toBe(204);
  await machines.pass(UNTIL_PRUNED_MS);
  const db = openInboxReader(databasePath);
  onTestFinished(() => void db.close());
  return values<number>(db, 'SELECT seq FROM inbox WHERE seq <= 3 ORDER BY seq');
}

test('deletes rows older than RETENTION_DAYS where the stream has them and no mirror reads them', async () => {
  expect(await leftBy({})).toEqual([3]);
});

test.each<[string, Given]>([
  ['the stream does not have them', { isStreamAway: true }],
  ['there is no stream, and the mirror has not been started yet', { stream: null }],
  ['a mirror runs in this process, and its file is missing', { stream: { ...STREAM, isConsumed: true } }],
  ['a mirror has its file here, and does not release them', { hasMirrorFile: true }],
  ['the clock is ahead of the store’s', { aheadMs: 40 * DAY_MS }],
  ['the clock is behind the store’s', { aheadMs: -2 * 60 * 60_000 }],
  ['only a test webhook agrees with the clock', { isTest: true }],
])('keeps old rows while %s', async (_, given) => {
  expect(await leftBy(given)).toEqual([1, 2, 3]);
});
