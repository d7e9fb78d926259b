import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { startIntake } from '../intake/intake.ts';

test('garbage behind a request costs that connection alone', async () => {
  const { port, ask } = await startIntake();
  const socket = connect(port, '127.0.0.1');
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.write('GET /healthz HTTP/1.1\r\nHost: m\r\n\r\n' + '\0'.repeat(1_000));
  await once(socket, 'close');
  expect(Buffer.concat(chunks).toString('latin1')).toContain('HTTP/1.1 400 ');
  expect((await ask('GET', '/healthz')).status).toBe(200);
});
