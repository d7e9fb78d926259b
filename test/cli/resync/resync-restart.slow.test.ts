/** `resync` follows its run through a server that is killed and started again. */
import { expect, test } from 'vitest';
import { present } from '../../shared/present.ts';
import {
  differencesOf,
  homeOf,
  start,
  startServer,
  startService,
  untilPrinted,
  untilQuiet,
} from '../harness.ts';

test('a server killed with -9 and started again goes on with the same run', async () => {
  const sandbox = await startService({ products: 12 });
  const home = await homeOf(sandbox);
  const server = await startServer(home, sandbox);
  await untilQuiet(home);

  const hold = sandbox.reads.holdNext();
  const follower = start(home, 'resync', '--json');
  await hold.sampled;
  await untilPrinted(follower, /\/12 products/);
  server.signal('SIGKILL');
  await untilPrinted(follower, /^the mirror has stopped; the run continues when it is back$/m);
  hold.release();
  await startServer(home, sandbox);
  const { code, stdout, stderr } = await follower.ended;
  expect(code).toBe(0);
  expect(stderr).toContain('the mirror is back\n');
  expect(stderr.match(/the mirror has stopped/g)).toHaveLength(1);
  // The first one was the start's own.
  expect(JSON.parse(stdout)).toMatchObject({ run_id: 2, kind: 'operator', state: 'done', done: 12 });
  expect(differencesOf(home, sandbox)).toEqual([]);
});

test('killed in its first sync, it begins that again, and the follower follows', async () => {
  const sandbox = await startService({ products: 12 });
  const home = await homeOf(sandbox);
  const hold = sandbox.reads.holdNext(present(sandbox.truth.products[0]).id);
  const server = await startServer(home, sandbox);
  const follower = start(home, 'resync', '--json');
  await hold.sampled;
  await untilPrinted(follower, /\/12 products/);
  server.signal('SIGKILL');
  await untilPrinted(follower, /^the mirror has stopped/m);
  hold.release();
  await startServer(home, sandbox);
  const { code, stdout } = await follower.ended;
  expect(JSON.parse(stdout)).toMatchObject({ kind: 'initial', state: 'done', done: 12, error: null });
  expect(code).toBe(0);
  expect(differencesOf(home, sandbox)).toEqual([]);
});
