/** How much of what was sent the other side has not taken, as Linux lists it. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { SendQueues, takenBytes } from '../../src/platform/send-queues.ts';

test.skipIf(process.platform !== 'linux').each([
  ['IPv4', '127.0.0.1', '127.0.0.1'],
  ['IPv6', '::1', '::1'],
  ['IPv4 at a listener for both', '::', '127.0.0.1'],
])('over %s', async (_, host, to) => {
  const server = createServer().listen(0, host);
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const accepted = once(server, 'connection');
  const reader = connect((server.address() as AddressInfo).port, to).pause();
  onTestFinished(() => void reader.destroy());
  const [socket] = (await accepted) as [Socket];
  onTestFinished(() => void socket.destroy());
  const queues = new SendQueues();
  expect(await queues.unacknowledged(socket)).toBe(0);

  const sent = 8 << 20;
  socket.write(Buffer.alloc(sent));
  await expect.poll(() => queues.unacknowledged(socket)).toBeGreaterThan(100_000);
  // Several at once share one look.
  const [one, other] = await Promise.all([queues.unacknowledged(socket), queues.unacknowledged(socket)]);
  expect(one).toBe(other);
  expect(await takenBytes(queues, socket)).toBeLessThan(sent);

  reader.resume();
  await expect.poll(() => takenBytes(queues, socket), { timeout: 5_000 }).toBe(sent);
});
