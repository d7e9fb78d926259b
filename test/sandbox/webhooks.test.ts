import { expect, test } from 'vitest';
import { present } from '../shared/present.ts';
import { levelOf, manualTime, sandboxFor, variantOf, withReceiver } from './harness.ts';

test('uses new request ids after a restart', async () => {
  const time = manualTime();
  const ids: string[] = [];
  for (let run = 0; run < 2; run += 1) {
    const { sandbox, receiver } = await withReceiver({ now: time.now });
    for (let i = 0; i < 20; i += 1) sandbox.operations.flip({ ...levelOf(variantOf(sandbox, 'own')), by: 1 });
    await sandbox.network.idle();
    ids.push(...receiver.received.map(({ body }) => body.request_id));
    time.advance(1_000);
  }
  expect(ids).toHaveLength(80);
  expect(new Set(ids).size).toBe(80);
});

test('records a failed delivery if the receiver is down', async () => {
  const sandbox = await sandboxFor({ webhookUrl: 'http://127.0.0.1:1/webhooks' });
  sandbox.operations.add({ ...levelOf(variantOf(sandbox, 'own')), by: 1 });
  await sandbox.network.idle();
  expect(sandbox.deliveries.counts).toMatchObject({ failed: 1, answered: 0 });
});

test('applies the clock offset to request_time and update_time', async () => {
  const time = manualTime();
  const { sandbox, receiver } = await withReceiver({ now: time.now });
  sandbox.clock.offsetMs = 90_000;
  sandbox.operations.add({ ...levelOf(variantOf(sandbox, 'own')), by: 1 });
  await sandbox.network.idle();
  expect(present(receiver.received[0]).body.request_time).toBe(time.now() + 90_000);
  expect(present(receiver.items()[0]).update_time).toBe(time.now() + 90_000);
});
