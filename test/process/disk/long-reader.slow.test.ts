/** A long read transaction during many megabytes of writes (docs/architecture.md#checkpoints). */
import { statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { signBody } from '../../../src/store-api/signature.ts';
import { delivery, item, T0 } from '../../mirror/mirror-file.ts';
import { eventually, startBoth, temporaryFolder } from '../harness.ts';

const MB = 1 << 20;
const HELD_BYTES = 64 * MB;
const BODY_BYTES = 900_000;
const LANES = 2;

test('shrinks the write-ahead log when a long reader ends', async (t) => {
  const { sandbox, mirror } = await startBoth(t, {}, { folder: temporaryFolder(t) });
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
        id: String(1_000 + (sent % 5)),
        sku: 'x'.repeat(bytes),
        old: sent - 5,
        new: sent,
        update_time: T0 + sent,
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
    while (walBytes() < HELD_BYTES + 16 * MB) await deliver(BODY_BYTES);
  });
  await Promise.all(lanes);
  expect(walBytes()).toBeGreaterThan(HELD_BYTES);
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
