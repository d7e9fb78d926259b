/** Answers that a real cluster gives only in rare moments, from a server that speaks just enough of the protocol. */
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { connectNats, loadNats } from '../../src/stream/nats.ts';

const INFO = { version: '2.10.23', headers: true, max_payload: 1 << 20 };

/** @param acks the answers to publishes, in order. */
async function startServer(acks: object[]): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.write(`INFO ${JSON.stringify(INFO)}\r\n`);
    let subscription = '';
    createInterface(socket).on('line', (line) => {
      const [verb, subject, third = ''] = line.split(' ');
      if (verb === 'PING') socket.write('PONG\r\n');
      if (verb === 'SUB') subscription = third;
      if (verb !== 'HPUB') return;
      const ack = JSON.stringify({ stream: subject, ...acks.shift() });
      socket.write(`MSG ${third} ${subscription} ${ack.length}\r\n${ack}\r\n`);
    });
    onTestFinished(() => void socket.destroy());
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return `nats://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('takes no acknowledgement for a message that the servers have only proposed', async () => {
  const acks = [{ seq: 0, duplicate: true }, { seq: 7, duplicate: true }, { seq: 8 }];
  const servers = [await startServer(acks)];
  const options = { servers, name: 'shop', user: null, password: null, caFile: null };
  const engine = await connectNats(await loadNats(), options);
  onTestFinished(() => engine.close());
  const publish = () => engine.publish('deliveries', Buffer.from('a'), { id: 'a' });
  await expect(publish()).rejects.toThrow('have not stored the message yet');
  await publish();
  await publish();
  expect(acks).toEqual([]);
});
