/**
 * Who may not sign may still send: slow, cut off and crowding requests are bounded
 * (docs/architecture.md#security).
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { eventually } from '../process/wait.ts';
import { delivery, item, values } from '../store/mirror-file.ts';
import { startIntake } from './intake.ts';

async function open(port: number, text: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(text);
  return socket;
}

const HEAD = 'POST /webhooks HTTP/1.1\r\nHost: mirror\r\n';

test('a request that does not come to its end is cut, and nothing of it is kept', async () => {
  const { port, db, post } = await startIntake();
  const startedMs = performance.now();
  const cutAfterMs = async (text: string): Promise<number> => {
    const socket = await open(port, text);
    socket.resume();
    await once(socket, 'close');
    return performance.now() - startedMs;
  };
  const [silent, headers, body, chunks] = await Promise.all([
    cutAfterMs(''),
    cutAfterMs(HEAD),
    cutAfterMs(`${HEAD}Content-Length: 100\r\n\r\n{"request_id"`),
    cutAfterMs(`${HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\n{"req\r\n`),
  ]);
  expect(silent).toBeLessThan(8_000);
  expect(headers).toBeLessThan(8_000);
  expect(body).toBeLessThan(12_500);
  expect(chunks).toBeLessThan(12_500);
  expect((await post(delivery('a', item()))).status).toBe(204);
  expect(values(db, 'SELECT count(*) FROM log')).toEqual([1]);
}, 30_000);

test('a connection closed in the middle of a body leaves nothing behind', async () => {
  const { port, post, db } = await startIntake();
  for (let n = 0; n < 20; n += 1) {
    const socket = await open(port, `${HEAD}Content-Length: 1000\r\n\r\nhalf`);
    socket.destroy();
  }
  expect((await post(delivery('a', item()))).status).toBe(204);
  expect(values(db, 'SELECT count(*) FROM log')).toEqual([1]);
});

test('bodies on their way have bounded memory, and room comes back', async () => {
  const { port, post } = await startIntake();
  const sockets: Socket[] = [];
  const hold = async (bytes: number): Promise<void> => {
    const socket = await open(port, `${HEAD}Content-Length: ${1 << 20}\r\n\r\n`);
    socket.write(Buffer.alloc(bytes, 'x'));
    sockets.push(socket);
  };
  await Promise.all(Array.from({ length: 140 }, () => hold((1 << 20) - 1)));
  // How much room the refused ones left is chance; ever smaller ones fill it.
  const crumbs = Array.from({ length: 14 }, (_, i) => 1 << (20 - 1 - i));
  let n = 0;
  const another = () => post(delivery(`r${n}`, item({ id: String(n++) })));
  const refused = await eventually(
    async () => {
      await Promise.all(crumbs.map(hold));
      const answer = await another();
      return answer.status === 503 && answer;
    },
    { what: 'a body finds no room' },
  );
  expect(JSON.parse(refused.body)).toMatchObject({ error: 'unavailable' });
  for (const socket of sockets) socket.destroy();
  await eventually(async () => (await another()).status === 204, { what: 'there is room again' });
});
