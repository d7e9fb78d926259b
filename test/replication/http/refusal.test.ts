/** What else may answer at the address of a primary: each is told apart, and said with its remedy. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { encodeFrame } from '../../../src/platform/frames.ts';
import { connectPrimary } from '../../../src/replication/http/connect.ts';
import { TransportError } from '../../../src/replication/transport.ts';
import { startIntake } from '../../intake/intake.ts';
import { answering } from './machines.ts';

type Elsewhere = readonly [name: string, status: number, type: string, body: string, words: string];

const elsewhere: readonly Elsewhere[] = [
  ['another program', 200, 'text/html', '<h1>It works!</h1>', 'another program, or a proxy, answers at'],
  ['a proxy without its mirror', 502, 'text/html', '<h1>Bad gateway</h1>', 'another program, or a proxy'],
  ['a redirect', 302, 'text/plain', '', 'set LOG_URL to the address of the primary itself'],
  ['a wrong token', 401, 'application/json', '{"error":"invalid_token"}', 'set LOG_TOKEN to the OPS_TOKEN'],
  ['no access', 403, 'text/html', 'no', 'LOG_TOKEN'],
  [
    'an earlier version',
    404,
    'application/json',
    '{"error":"not_found","error_description":"there is no GET /api/log/entries"}',
    'install the same version on both',
  ],
  [
    'a mirror that is being opened',
    503,
    'application/json',
    '{"error":"unavailable","error_description":"the mirror is being opened"}',
    'refuses: the mirror is being opened',
  ],
  [
    'what is no stream',
    200,
    'application/vnd.stock-mirror.entries',
    'hello, hello',
    'does not send what a primary sends',
  ],
  [
    'entries with a hole',
    200,
    'application/vnd.stock-mirror.entries',
    Buffer.from(encodeFrame({ seq: 7, kind: 'delivery', at_ms: 1 })).toString('latin1'),
    'entry 7 after entry 4',
  ],
];

test.each(elsewhere)(
  '%s at that address is told apart',
  async (...[, status, type, body, words]: Elsewhere) => {
    const url = await answering(status, type, Buffer.from(body, 'latin1'));
    const source = connectPrimary({ url, token: 'wrong', caFile: null });
    onTestFinished(() => source.close());
    const following = (async () => {
      const from = { epoch: 'ab', lastSeq: 4, cursor: null };
      for await (const batch of source.follow(from, new AbortController().signal)) expect(batch).toBeNull();
    })();
    await expect(following).rejects.toThrow(TransportError);
    await expect(following).rejects.toThrow(words);
    await expect(following).rejects.toThrow(url);
  },
);

function followed(url: string): Promise<unknown> {
  const source = connectPrimary({ url, token: 'wrong', caFile: null });
  onTestFinished(() => source.close());
  const asked = source.follow({ epoch: 'ab', lastSeq: 4, cursor: null }, new AbortController().signal);
  return asked[Symbol.asyncIterator]().next();
}

test('the public listener of a primary is named as what it is, with the variables of the private one', async () => {
  const { port } = await startIntake();
  await expect(followed(`http://127.0.0.1:${port}`)).rejects.toThrow(
    'at OPS_HOST and OPS_PORT of the primary',
  );
});

test('an answer that is no stream and never ends is not waited for', async () => {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.write('<h1>');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  await expect(followed(`http://127.0.0.1:${port}`)).rejects.toThrow(
    'another program, or a proxy, answers at',
  );
});

test('nobody there, and a name that does not exist', async () => {
  for (const url of ['http://127.0.0.1:9', 'http://nowhere.invalid:8788']) {
    const source = connectPrimary({ url, token: null, caFile: null });
    const asked = source.follow({ epoch: 'ab', lastSeq: 0, cursor: null }, new AbortController().signal);
    await expect(asked[Symbol.asyncIterator]().next()).rejects.toThrow(`${url} cannot be reached: E`);
    await source.close();
  }
});
