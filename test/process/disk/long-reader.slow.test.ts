/** A long read transaction during hundreds of megabytes of writes (docs/architecture.md#checkpoints). */
import { statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { signBody } from '../../../src/store-api/signature.ts';
import { delivery, item, T0 } from '../../mirror/mirror-file.ts';
import { eventually, memoryFolder, startMirror, startService, untilLive } from '../harness.ts';

const MB = 1 << 20;
/** Beyond this the log names the reader (src/mirror/writer/own-mirror.ts). */
const NAMED_BYTES = 256 * MB;
const BODY_BYTES = 900_000;
const LANES = 2;

test('names a long reader in the log and shrinks the file when it ends', async (t) => {
  const sandbox = await startService(t);
  const mirror = await startMirror(t, sandbox, { folder: memoryFolder(t) });
  await untilLive(mirror);
  const walBytes = (): number => statSync(`${mirror.databasePath}-wal`).size;
  const reader = new Database(mirror.databasePath, { readonly: true });
  t.onTestFinished(() => void reader.close());
  reader.exec('BEGIN');
  const count = reader.prepare<[], number>('SELECT count(*) FROM mirror_changes').pluck();
  const seen = count.get();

  let sent = 0;
  const deliver = async (bytes: number): Promise<void> => {
    sent += 1;
    const body = delivery(
      `big-${sent}`,
      item({
        ...{ id: String(1_000 + (sent % 5)), sku: 'x'.repeat(bytes) },
        ...{ old: sent - 5, new: sent, update_time: T0 + sent },
      }),
    );
    const { status } = await fetch(mirror.webhookUrl, {
      method: 'POST',
      headers: { 'x-service-signature': signBody(sandbox.webhookSecret, body) },
      body: Buffer.from(body),
    });
    expect(status).toBe(204);
  };
  const lanes = Array.from({ length: LANES }, async () => {
    while (walBytes() < NAMED_BYTES + 16 * MB) await deliver(BODY_BYTES);
  });
  await Promise.all(lanes);
  const held = (): Record<string, unknown> | undefined =>
    mirror.log.find(({ msg }) => String(msg).startsWith('another program’s read transaction keeps'));
  await eventually(() => held(), { what: 'the log names the reader' });
  expect(held()).toMatchObject({ level: 'warn' });
  expect(walBytes()).toBeGreaterThan(NAMED_BYTES);
  expect(walBytes()).toBeLessThan(4 * sent * BODY_BYTES);
  expect(count.get()).toBe(seen);

  reader.exec('COMMIT');
  await eventually(
    async () => {
      await deliver(100);
      return walBytes() <= 16 * MB;
    },
    { what: 'the log has shrunk' },
  );
});
