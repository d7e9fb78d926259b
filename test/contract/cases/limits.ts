/** Limits beside those of single fields, whose cases are with their endpoints. */
import { request } from 'node:http';
import { expect } from 'vitest';
import { failureOf } from '../../store-api/connection.ts';
import { clientRule, rule } from '../contract.ts';
import type { Context, ContractCase } from '../contract.ts';
import { fieldRule } from '../fields.ts';
import { errorOf } from '../raw.ts';

/** 1 MB, as 2^20 bytes. */
const LIMIT = 1_048_576;
const PATHS = [
  '/v1/order/create',
  '/v1/order/detail',
  '/v1/store/address/list',
  '/v1/product/list',
  '/v1/product/detail',
];
const filled = (bytes: number): string => `{"query":"${'x'.repeat(bytes - '{"query":""}'.length)}"}`;

/** The status for a body that comes in pieces, so that no header tells its length. */
function chunked({ sandbox }: Context, bytes: number): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = request(`${sandbox.baseUrl}/v1/product/list`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'transfer-encoding': 'chunked' },
      agent: false,
    });
    sent.once('error', reject).once('response', (response) => {
      response.resume().once('end', () => {
        resolve(response.statusCode);
      });
    });
    for (let left = bytes; left > 0; left -= 65_536) sent.write('x'.repeat(Math.min(left, 65_536)));
    sent.end();
  });
}

export const cases: ContractCase[] = [
  rule('limits.request-body', 'to the byte', async ({ raw }) => {
    expect((await raw.post('/v1/product/list', filled(LIMIT))).status).toBe(200);
    expect(errorOf(await raw.post('/v1/product/list', filled(LIMIT + 1)))).toEqual([413, 'invalid_request']);
    // Counted in bytes: a Thai letter has three.
    const thai = JSON.stringify({ query: 'ก'.repeat(LIMIT / 3) });
    expect(thai.length).toBeLessThan(LIMIT);
    expect(errorOf(await raw.post('/v1/product/list', thai))).toEqual([413, 'invalid_request']);
  }),
  rule('limits.request-body', 'of every endpoint, and of the token’s', async ({ raw }) => {
    for (const path of PATHS) {
      expect(errorOf(await raw.post(path, filled(LIMIT + 1)))).toEqual([413, 'invalid_request']);
    }
    expect(errorOf(await raw.token({ client_secret: 'x'.repeat(LIMIT) }))).toEqual([413, 'invalid_request']);
  }),
  rule('limits.request-body', 'also when its length is not told', async (context) => {
    expect(await chunked(context, LIMIT)).toBe(401);
    expect(await chunked(context, LIMIT + 1)).toBe(413);
  }),
  clientRule('limits.request-body', 'told as the service’s refusal', async ({ client, sandbox }) => {
    const error = await failureOf(client().listProducts({ query: 'x'.repeat(LIMIT) }));
    expect(error).toMatchObject({ kind: 'rejected', status: 413, code: 'invalid_request' });
    expect(sandbox.requests['/v1/product/list']).toBe(1);
  }),
  ...fieldRule('limits.external_order_id', 'of any script', {
    path: '/v1/order/create',
    taken: ['x', 'ก', '📦'].map((letter) => {
      const id = letter.repeat(128);
      return [{ external_order_id: id }, { order: { external_order_id: id } }];
    }),
    refused: ['x', 'ก', '📦'].map((letter) => [
      { external_order_id: letter.repeat(129) },
      'external_order_id',
    ]),
  }),
  ...fieldRule('limits.notes', 'each of the two', {
    path: '/v1/order/create',
    taken: [[{ shipping_label_note: 'ก'.repeat(1_000), private_note: 'ก'.repeat(1_000) }, { order: {} }]],
    refused: [
      [{ shipping_label_note: 'ก'.repeat(1_001) }, 'shipping_label_note'],
      [{ private_note: 'ก'.repeat(1_001) }, 'private_note'],
    ],
  }),
];
