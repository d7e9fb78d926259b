import { expect, test } from 'vitest';
import { compareWithTruth, eventually, plainVariants, startBoth, statusOf, untilLive } from '../harness.ts';

test('repairs the losses of a suspended process', async (t) => {
  const { sandbox, mirror } = await startBoth(t);
  mirror.signal('SIGSTOP');
  const stoppedMs = performance.now();
  sandbox.webhookUrl = null;
  const [level] = plainVariants(sandbox, 1);
  sandbox.operations.add({ ...level, by: 11 });
  await eventually(() => performance.now() > stoppedMs + 2_500, { what: 'a silence' });
  // Reads wait until released, so that no check comes too late.
  const released = Promise.withResolvers<undefined>();
  sandbox.reads.intercept = () => released.promise;
  mirror.signal('SIGCONT');
  await eventually(() => statusOf(mirror.databasePath).state === 'catching_up', {
    what: 'the downtime is noticed',
  });
  released.resolve(undefined);
  await untilLive(mirror);
  expect(compareWithTruth(mirror.databasePath, sandbox)).toEqual([]);
});
