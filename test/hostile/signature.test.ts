/** The signature header as nobody should send it, and another computation of the same HMAC beside ours. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { signBody, verifySignature } from '../../src/store-api/signature.ts';
import { SECRET, startIntake } from '../intake/intake.ts';
import { present } from '../shared/present.ts';
import { delivery, item, values } from '../mirror/mirror-file.ts';

/** HMAC as RFC 2104 writes it, from the hash alone. */
function hmacByHand(secret: string, body: Uint8Array): string {
  const sha256 = (...parts: readonly Uint8Array[]): Buffer =>
    parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest();
  const long = Buffer.from(secret);
  const key = Buffer.concat([long.length > 64 ? sha256(long) : long, Buffer.alloc(64)], 64);
  const pad = (byte: number): Buffer => key.map((own) => own ^ byte) as Buffer;
  return sha256(pad(0x5c), sha256(pad(0x36), body)).toString('hex');
}

const secrets = fc.oneof(
  fc.string({ minLength: 1, maxLength: 20, unit: 'grapheme' }),
  fc.string({ minLength: 60, maxLength: 140 }),
);
const bodies = fc.uint8Array({ maxLength: 300 });

test('ours is the HMAC of the standard, for any secret and body', () => {
  fc.assert(
    fc.property(secrets, bodies, (secret, body) => {
      expect(signBody(secret, body)).toBe(hmacByHand(secret, body));
      expect(verifySignature(['another', secret], body, hmacByHand(secret, body))).toBe(true);
    }),
    { numRuns: 300 },
  );
});

test('nothing but the very digits is accepted, and nothing throws', () => {
  const BODY = new TextEncoder().encode('{}');
  const right = signBody(SECRET, BODY);
  const near = fc.oneof(
    fc
      .tuple(fc.nat(63), fc.string({ maxLength: 3, unit: 'binary' }))
      .map(([at, text]) => right.slice(0, at) + text + right.slice(at + text.length)),
    fc.constantFrom(
      right.toUpperCase(),
      `${right}, ${right}`,
      `${right},${right}`,
      `${right};`,
      `sha256=${right}`,
      `\u0000${right}`,
      `${right}\u0000`,
      right.replace('a', 'ａ'),
      right.replaceAll(/[0-9]/g, (digit) => String.fromCodePoint(0x0660 + Number(digit))),
      Buffer.from(right, 'hex').toString('base64'),
      Buffer.from(right, 'hex').toString('latin1'),
    ),
    fc.string({ unit: 'binary', maxLength: 200 }),
    fc.string({
      minLength: 64,
      maxLength: 64,
      unit: fc.constantFrom(...present('0123456789abcdef'.match(/./g))),
    }),
  );
  fc.assert(
    fc.property(near, (header) => {
      expect(verifySignature([SECRET], BODY, header)).toBe(header === right);
    }),
    { numRuns: 500 },
  );
});

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

test('over the wire: the header’s name in any case, its value once and in lowercase', async () => {
  const { port, db } = await startIntake();
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
    [431, `X-Service-Signature: ${'a'.repeat(20_000)}`],
  ] as const) {
    expect(await postRaw(port, body, lines), lines.join()).toBe(status);
  }
  expect(values(db, 'SELECT count(*) FROM inbox')).toEqual([0]);
  expect(await postRaw(port, body, [`x-SERVICE-signature:   ${right}  `])).toBe(204);
});
