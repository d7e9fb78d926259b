/** When the kernel may have refused connections to a socket that nothing served. */
import { createServer } from 'node:net';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { isQueueFull, queueLimit } from '../../src/platform/accept-queue.ts';

test.each([
  ['16', 16],
  ['4096', 4_096],
  // A tuned kernel does not make the queue longer than the program has asked for.
  ['65535', 4_096],
  [undefined, 0],
])('the queue of a kernel with somaxconn %s holds %i connections', (somaxconn, limit) => {
  expect(queueLimit(somaxconn ?? '')).toBe(limit);
});

test.skipIf(process.platform !== 'linux')('finds an open socket in the tables of the kernel', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { fd } = (server as unknown as { _handle: { fd: number } })._handle;
  expect(isQueueFull(fd)).toBe(false);
});
