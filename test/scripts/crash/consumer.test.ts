/** The crash course's consumer sees a feed that repeats itself, leaves something out or goes back. */
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Consumer } from '../../../scripts/crash/consumer.ts';
import { logRows, Reference } from '../../../scripts/crash/reference.ts';
import type { Db } from '../../../src/sqlite/open.ts';
import { eventually } from '../../process/wait.ts';
import { delivery, detail, DirectWriter, item, newPath, T0, writerDb } from '../../mirror/mirror-file.ts';

function scene(): { db: Db; writer: DirectWriter; consumer: Consumer; reference: Reference } {
  const path = newPath();
  const writer = new DirectWriter(writerDb(path));
  const reference = new Reference(join(dirname(path), 'reference.db'));
  const consumer = new Consumer(path);
  onTestFinished(() => {
    consumer.pause('closed');
    reference.close();
  });
  writer.read('10', detail('10', [{ id: '100', levels: { 1: 5 } }]), T0 - 60_000);
  for (let n = 0; n < 3; n += 1) {
    writer.deliver(delivery(`r${n}`, item({ old: 5 - n, new: 4 - n, update_time: T0 + n })), T0 + n);
  }
  expect(reference.take(logRows(writer.db, 0))).toEqual([]);
  return { db: writer.db, writer, consumer, reference };
}

test('each change once, and a copy equal to the mirror', () => {
  const { consumer, reference } = scene();
  expect(consumer.finish(reference)).toEqual([]);
  expect(consumer.seen).toBeGreaterThanOrEqual(4);
});

test.each([
  ['another figure', 'UPDATE changes SET new_qty = 77 WHERE seq = (SELECT max(seq) FROM changes)'],
  ['a missing change', 'DELETE FROM changes WHERE seq = (SELECT max(seq) FROM changes) - 1'],
])('%s in the feed is told', (_name, tamper) => {
  const { db, consumer, reference } = scene();
  db.exec(tamper);
  expect(consumer.finish(reference).join()).toContain('what the consumer saw');
});

test('a change after the last one seen, that the log does not say, is told', () => {
  const { db, consumer, reference } = scene();
  db.exec(`INSERT INTO changes SELECT seq + 10, log_seq, variant_id, warehouse_id, sku, old_qty, new_qty, source,
           reason, order_id, user_id, update_time_ms, recorded_at_ms, request_id FROM changes ORDER BY seq DESC LIMIT 1`);
  expect(consumer.finish(reference).join()).toContain('the consumer saw changes up to');
});

test('numbers that fall, and rows that change behind its back, are told', async () => {
  const { db, consumer, reference } = scene();
  consumer.start();
  await eventually(() => consumer.seen >= 4, { what: 'it has seen all' });
  db.exec(`UPDATE mirror_state SET change_seq = change_seq - 1; UPDATE stock_levels SET qty = 77`);
  const said = consumer.finish(reference).join('\n');
  expect(said).toContain('last_seq fell');
  expect(said).toContain('the consumer’s copy');
});
