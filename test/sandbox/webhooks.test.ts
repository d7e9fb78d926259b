import { expect, test } from 'vitest';
import { present } from '../shared/present.ts';
import { levelOf, manualTime, variantOf, withReceiver } from './harness.ts';

test('applies the clock offset to request_time and update_time', async () => {
  const time = manualTime();
  const { sandbox, receiver } = await withReceiver({ now: time.now });
  sandbox.clock.offsetMs = 90_000;
  sandbox.operations.add({ ...levelOf(variantOf(sandbox, 'own')), by: 1 });
  await sandbox.network.idle();
  expect(present(receiver.received[0]).body.request_time).toBe(time.now() + 90_000);
  expect(present(receiver.items()[0]).update_time).toBe(time.now() + 90_000);
});
