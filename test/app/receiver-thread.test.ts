import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startReceiverThread } from '../../src/app/receiver-thread.ts';
import { eventually, temporaryFolder } from '../process/harness.ts';
import { freePort } from '../shared/free-port.ts';

test('keeps the news and the log lines of a receiver that listens before the rest is loaded', async (t) => {
  const webhook = { host: '127.0.0.1', port: await freePort() };
  const thread = startReceiverThread({
    databasePath: join(temporaryFolder(t), 'mirror.db'),
    webhook,
    secrets: ['a secret'],
    stream: null,
    retentionDays: 1,
    logLevel: 'info',
  });
  const url = `http://${webhook.host}:${webhook.port}/webhooks`;
  const refused = (): Promise<Response> => fetch(url, { method: 'POST', body: '{}' });
  await eventually(refused, { what: 'it listens' });
  // The thread has reported that it listens, and this one has turned, before the last of these.
  for (let n = 0; n < 20; n += 1) expect((await refused()).status).toBe(401);

  const lines: string[] = [];
  const receiver = await thread.running(
    { onCommit: () => undefined, onTrouble: () => undefined, onDeath: () => undefined },
    { write: (line) => lines.push(line) },
  );
  expect(receiver.webhook).toEqual(webhook);
  await receiver.stop();
  await receiver.close();
  expect(lines.map((line) => JSON.parse(line) as unknown)).toContainEqual(
    expect.objectContaining({ level: 'warn', missing_signature: 1 }),
  );
});
