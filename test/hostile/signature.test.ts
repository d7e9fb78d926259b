/** The signature header over the wire. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { signBody } from '../../src/store-api/signature.ts';
import { SECRET, startReceiver } from '../receiver/harness.ts';
import { delivery, item, values } from '../mirror/mirror-file.ts';

/** @param lines header lines, as they go over the wire. @returns the status. */
async function postRaw(port: number, body: Uint8Array, lines: readonly string[]): Promise<number> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  const head = ['POST /webhooks HTTP/1.1', 'Host: mirror', `Content-Length: ${body.length}`, ...lines];
  socket.write(Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), body]));
  const [answer] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  return Number(/^HTTP\/1\.1 (\d+)/.exec(answer.toString('latin1'))?.[1]);
}

test('accepts the signature once, in lowercase digits, under a header name in any case', async () => {
  const { port, db } = await startReceiver();
  const body = delivery('a', item());
  const right = signBody(SECRET, body);
  const wrong = signBody('another', body);
  for (const [status, ...lines] of [
    [401],
    [401, `X-Service-Signature: ${right}`, `X-Service-Signature: ${right}`],
    [401, `X-Service-Signature: ${wrong}`, `X-Service-Signature: ${right}`],
    [401, `X-Service-Signature: ${right}`, `x-service-signature: ${wrong}`],
    [401, `X-Service-Signature: ${right.toUpperCase()}`],
    [401, `X-Service-Signature: "${right}"`],
    [401, `X-Service-Signature: ${right}\u00e9`],
    [401, 'X-Service-Signature:'],
    [401, `X-Service-Signature : ${right}`.replace(' :', '2:')],
    [400, `X-Service-Signature: ${right}\u0000`],
    [400, `X-Service-Signature : ${right}`],
    [431, `X-Service-Signature: ${'a'.repeat(40_000)}`],
  ] as const) {
    expect(await postRaw(port, body, lines), lines.join()).toBe(status);
  }
  expect(values(db, `SELECT count(*) FROM inbox WHERE kind = 'delivery'`)).toEqual([0]);
  expect(await postRaw(port, body, [`x-SERVICE-signature:   ${right}  `])).toBe(204);
});
