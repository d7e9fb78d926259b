/**
 * The write-ahead log stays short while writes go on, and a reader in the way holds up nobody
 * (docs/architecture.md#checkpoints).
 */
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { expect, test } from 'vitest';
import { eventually } from '../../process/wait.ts';
import { delivery, item, readerDb, storeAt, T0, values } from '../mirror-file.ts';

const walBytes = (path: string): number => statSync(`${path}-wal`).size;

/** Another one whenever the log begins anew, in the same file or in one that is cut. */
function walSalt(path: string): string {
  const file = openSync(`${path}-wal`, 'r');
  const salt = Buffer.alloc(8);
  const bytes = readSync(file, salt, 0, 8, 16);
  closeSync(file);
  return salt.toString('hex', 0, bytes);
}

test('under a steady stream of writes the log begins anew', async () => {
  const { writer, path } = await storeAt();
  const first = walSalt(path);
  let n = 0;
  const write = async (): Promise<void> => {
    while (walSalt(path) === first) {
      n += 1;
      await writer.appendDelivery(delivery(`r${n}`, item({ id: String(n), sku: 'x'.repeat(60_000) })), T0);
    }
  };
  await Promise.all(Array.from({ length: 8 }, write));
  expect(first).toHaveLength(16);
  expect(walBytes(path)).toBeLessThan(256 << 20);
  expect(walSalt(path)).not.toBe(first);
});

test('a log that a reader held is shortened when it lets go', async () => {
  const { writer, path } = await storeAt();
  let n = 0;
  const append = async (bytes: number): Promise<void> => {
    n += 1;
    await writer.appendDelivery(delivery(`r${n}`, item({ id: String(n), sku: 'x'.repeat(bytes) })), T0);
  };
  await append(1);
  const reader = readerDb(path);
  reader.exec('BEGIN');
  expect(values(reader, 'SELECT count(*) FROM changes')).toHaveLength(1);
  while (walBytes(path) < 300 << 20) {
    await append(2_000_000);
    await eventually(() => writer.appliedSeq === n, { what: 'it is in the mirror' });
  }
  reader.exec('COMMIT');
  await eventually(
    async () => {
      await append(1);
      return walBytes(path) <= 16 << 20;
    },
    { what: 'it is short again' },
  );
  expect(readerDb(path).pragma('integrity_check', { simple: true })).toBe('ok');
});
