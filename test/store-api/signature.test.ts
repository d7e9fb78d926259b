import { Buffer } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { signBody, verifySignature } from '../../src/store-api/signature.ts';

interface Vector {
  name: string;
  secret: string;
  body_base64: string;
  signature: string;
}

const fixture = new URL('fixtures/signatures.json', import.meta.url);
const { vectors } = JSON.parse(readFileSync(fixture, 'utf8')) as { vectors: Vector[] };

test.each(vectors)('matches OpenSSL: $name', ({ secret, body_base64, signature }) => {
  const body = Buffer.from(body_base64, 'base64');
  expect(signBody(secret, body)).toBe(signature);
  expect(verifySignature([secret], body, signature)).toBe(true);
});

describe('rejects a signature', () => {
  const secret = 'whsec_test';
  const body = Buffer.from('{"request_id":"r1"}');
  const signature = signBody(secret, body);

  test.each([
    ['missing', undefined],
    ['null', null],
    ['empty', ''],
    ['one digit short', signature.slice(1)],
    ['one digit long', `${signature}0`],
    ['in uppercase', signature.toUpperCase()],
    ['with a space before', ` ${signature}`],
    ['with a line break after', `${signature}\n`],
    ['with a prefix', `sha256=${signature}`],
    ['not hex', 'g'.repeat(64)],
    ['not ASCII, though as long', 'ก'.repeat(64)],
  ])('%s', (_name, header) => {
    expect(verifySignature([secret], body, header)).toBe(false);
  });

  test('over a body decoded and encoded again', () => {
    const withMark = Buffer.from([0xef, 0xbb, 0xbf, 0x7b, 0x7d]);
    const decoded = Buffer.from(new TextDecoder().decode(withMark));
    expect(verifySignature([secret], decoded, signBody(secret, withMark))).toBe(false);
  });

  test('without a secret or with an empty one', () => {
    expect(verifySignature([], body, signature)).toBe(false);
    expect(verifySignature([''], body, signBody('', body))).toBe(false);
  });
});

test('accepts either of two secrets', () => {
  const body = Buffer.from('{}');
  const [current, previous] = ['whsec_new', 'whsec_old'];
  for (const secret of [current, previous]) {
    expect(verifySignature([current, previous], body, signBody(secret, body))).toBe(true);
    expect(verifySignature([previous, current], body, signBody(secret, body))).toBe(true);
  }
  expect(verifySignature([current, previous], body, signBody('whsec_other', body))).toBe(false);
});
