import { Buffer } from 'node:buffer';
import { describe, expect, test } from 'vitest';
import { signBody, verifySignature } from '../../src/store-api/signature.ts';

/** `openssl dgst -sha256 -mac HMAC` over the exact bytes; the secret is UTF-8. */
test.each([
  [
    'a Thai body and secret',
    'ความลับ-ß',
    Buffer.from('{"sku":"เสื้อ-แดง"}'),
    'd93dc732ba5375dcfb38144a118c19b43b2b332059891759e574a72b7fab6203',
  ],
  [
    'a body that is not UTF-8',
    'whsec_test',
    Buffer.from('{"x":"\xff\xfe\xc3("}', 'latin1'),
    'bffd17984ccee39ea4025282e60430479e7cb0f43a88ac4ac09bf0734a3af352',
  ],
  [
    'a secret with outer spaces',
    ' lead and trail ',
    Buffer.from('{}'),
    '666f2953ea2739b068c5c4d30cd98bfd0131d9f81c1672fcda310e76275fca33',
  ],
])('matches OpenSSL: %s', (_name, secret, body, signature) => {
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
