import { expect, test } from 'vitest';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { present } from '../shared/present.ts';
import { levelOf, manualTime, variantOf, withReceiver } from './harness.ts';
import type { Receiver } from './receiver.ts';

/** Makes `count` changes of one stock level. @returns the new quantities. */
function change(sandbox: Sandbox, count: number): number[] {
  const level = levelOf(variantOf(sandbox, 'own'));
  return Array.from({ length: count }, () => present(sandbox.operations.add({ ...level, by: 1 })[0]).new);
}
const arrived = (receiver: Receiver): number[] => receiver.items().map((item) => item.new);
const turn = () => new Promise((resolve) => setImmediate(resolve));

test('duplicate sends the same bytes again', async () => {
  const { sandbox, receiver } = await withReceiver();
  sandbox.network.duplicate = 1;
  change(sandbox, 1);
  await sandbox.network.idle();
  expect(receiver.received).toHaveLength(2);
  expect(present(receiver.received[1]).raw.equals(present(receiver.received[0]).raw)).toBe(true);
  expect(present(receiver.received[1]).headers['x-service-signature']).toBe(
    present(receiver.received[0]).headers['x-service-signature'],
  );
  expect(sandbox.deliveries.records.map(({ duplicate }) => duplicate)).toEqual([false, true]);
});

test('delay holds a delivery for a time within its range', async () => {
  const time = manualTime();
  const { sandbox, receiver } = await withReceiver({ now: time.now, timers: time.timers });
  sandbox.network.delayMs = { min: 400, max: 500 };
  change(sandbox, 1);
  time.advance(399);
  await turn();
  expect(present(sandbox.deliveries.records[0]).sentAtMs).toBeNull();
  time.advance(101);
  await sandbox.network.idle();
  const record = present(sandbox.deliveries.records[0]);
  expect(present(record.sentAtMs) - record.createdAtMs).toBeGreaterThanOrEqual(400);
  expect(present(record.sentAtMs) - record.createdAtMs).toBeLessThanOrEqual(500);
  expect(receiver.received).toHaveLength(1);
});

test('reorder lets later deliveries overtake and loses none', async () => {
  const { sandbox, receiver } = await withReceiver();
  sandbox.network.concurrency = 1;
  sandbox.network.reorder = 0.3;
  const sent = change(sandbox, 40);
  await sandbox.network.idle();
  expect(arrived(receiver)).not.toEqual(sent);
  expect(arrived(receiver).sort((a, b) => a - b)).toEqual(sent);
});
