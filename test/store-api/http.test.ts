import type { ServerResponse } from 'node:http';
import { queryObjects } from 'node:v8';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { createHttpTransport } from '../../src/store-api/transport/http.ts';
import { connected, failureOf } from './connection.ts';
import { sendError, sendHtml, sendJson, type Answering } from './stub-service.ts';

const LIST = '/v1/product/list';
const page = { products: [], has_more: false };

const NOT_UTF_8 = Buffer.from('{"has_more":false,"products":[{"id":"1","name":"\xff"}]}', 'latin1');

/** Lists the products of a store that answers so. */
async function listing(answering: Answering, limits = {}) {
  const { service, client } = await connected({ limits });
  service.answer(LIST, answering);
  return client.listProducts();
}

describe('an incomplete answer is unavailable', () => {
  test('when it takes too long', async () => {
    const error = await failureOf(listing(() => undefined, { deadlineMs: 200 }));
    expect(error).toMatchObject({ kind: 'unavailable', status: undefined, requestId: 'request-1' });
    expect(error.message).toContain('within 200 ms');
  });

  test('when the connection is refused', async () => {
    const { service, client } = await connected();
    await service.stop();
    const error = await failureOf(client.listProducts());
    expect(error).toMatchObject({ kind: 'unavailable', endpoint: '/oauth/token' });
    expect(error.message).toContain('ECONNREFUSED');
    expect(error.cause).toMatchObject({ code: 'ECONNREFUSED' });
  });

  test.each([
    ['of a known length', { 'content-length': '100' }],
    ['of unknown length', {}],
  ])('when the connection is cut within a body %s', async (_name, headers) => {
    const listed = listing((response) => {
      response.writeHead(200, headers);
      response.write(JSON.stringify(page), () => response.destroy());
    });
    expect(await failureOf(listed)).toMatchObject({ kind: 'unavailable' });
  });
});

test('an answered request keeps nothing until its deadline', async () => {
  const { service, client } = await connected();
  service.answer(LIST, (response) => sendJson(response, 200, page));
  const { signal } = new AbortController();
  const signals = async (requests: number): Promise<number> => {
    for (let request = 0; request < requests; request += 1) await client.listProducts({}, { signal });
    return queryObjects(AbortSignal, { format: 'count' });
  };
  const before = await signals(1);
  expect(await signals(100)).toBeLessThan(before + 50);
});

describe('an answer that is not the service’s', () => {
  test.each([
    [200, 'contract'],
    [302, 'contract'],
    [403, 'contract'],
    [404, 'contract'],
    [429, 'rate_limited'],
    [502, 'unavailable'],
    [503, 'unavailable'],
  ])('HTML with status %i is %s', async (status, kind) => {
    const error = await failureOf(listing((response) => sendHtml(response, status)));
    expect(error).toMatchObject({ kind, status, code: undefined });
    expect(error.message).not.toContain('<');
  });

  test.each([
    ['empty', ''],
    ['cut JSON', '{"products":['],
    ['not UTF-8', NOT_UTF_8],
    ['a JSON text', '"ok"'],
    ['null', 'null'],
  ])('a 200 with a body that is %s is contract', async (_name, body) => {
    const error = await failureOf(listing((response) => void response.writeHead(200).end(body)));
    expect(error).toMatchObject({ kind: 'contract', status: 200 });
    expect(error.description).toMatch(
      body === NOT_UTF_8
        ? /^the answer is not UTF-8 text$/
        : /^the answer is not JSON$|^Invalid input: expected object, received (string|null)$/,
    );
  });

  test.each([
    ['announced', { 'content-length': '200000' }],
    ['unannounced', {}],
  ])('one that is too large, %s, is too_large', async (_name, headers) => {
    const large: Answering = (response) =>
      void response.writeHead(200, headers).end(Buffer.alloc(200_000, ' '));
    const error = await failureOf(listing(large, { maxAnswerBytes: 100_000 }));
    expect(error).toMatchObject({ kind: 'too_large', requestId: 'request-1' });
    expect(error.message).toContain('larger than the limit of 100000 bytes');
  });
});

describe('an answer compressed without being asked for', () => {
  const answering = (body: Uint8Array) => {
    const compressed: Answering = (response) =>
      void response.writeHead(200, { 'content-encoding': 'gzip' }).end(body);
    return listing(compressed, { maxAnswerBytes: 100_000 });
  };
  test('is unpacked', async () => {
    expect(await answering(gzipSync(JSON.stringify(page)))).toMatchObject({ page });
  });

  test('is refused when it is too large unpacked, or damaged', async () => {
    const bomb = await failureOf(answering(gzipSync(Buffer.alloc(200_000))));
    const description = 'the answer is larger than the limit of 100000 bytes';
    expect(bomb).toMatchObject({ kind: 'too_large', description });
    const cut = await failureOf(answering(gzipSync(JSON.stringify(page)).subarray(0, 20)));
    expect(cut).toMatchObject({ kind: 'contract' });
    expect(cut.description).toContain('cannot be unpacked');
  });
});

test.each([
  ['17', 17_000],
  ['0', 0],
  ['99999999', 3_600_000],
  ['Mon, 21 Sep 2026 14:13:51 GMT', undefined],
  ['soon', undefined],
  ['-1', undefined],
  ['1.5', undefined],
])('Retry-After %s is %s ms', async (value, expected) => {
  const paused: Answering = (response) => sendError(response, 429, 'slow_down', { 'Retry-After': value });
  expect((await failureOf(listing(paused))).retryAfterMs).toBe(expected);
});

test.each([
  ['Mon, 21 Sep 2026 14:13:21 GMT', Date.UTC(2026, 8, 21, 14, 13, 21)],
  ['Mon, 21 Sep 2026 14:13:21', null],
  ['2026-09-21T14:13:21Z', null],
  ['Mon, 99 Sep 2026 14:13:21 GMT', null],
  ['', null],
])('the Date header %j is %s', async (value, expected) => {
  const { serverDateMs } = await listing((response) => sendJson(response, 200, page, { Date: value }));
  expect(serverDateMs).toBe(expected);
});

describe('a request', () => {
  test('is aborted by its signal', async () => {
    const { service, client } = await connected();
    const abort = new AbortController();
    service.answer(LIST, () => abort.abort());
    expect(await failureOf(client.listProducts({}, { signal: abort.signal }))).toMatchObject({
      kind: 'aborted',
      endpoint: LIST,
    });
  });

  test('shares kept-alive connections up to the limit', async () => {
    const { service, client } = await connected({ maxConcurrency: 3 });
    const waiting: ServerResponse[] = [];
    service.answer(LIST, (response) => {
      waiting.push(response);
      if (waiting.length === 3) for (const each of waiting.splice(0)) sendJson(each, 200, page);
    });
    await Promise.all(Array.from({ length: 30 }, () => client.listProducts()));
    expect(service.to(LIST)).toHaveLength(30);
    expect(service.connections()).toBe(3);
  });
});

test.each([
  ['maxConcurrency', 0],
  ['maxAnswerBytes', 0],
  ['deadlineMs', -1],
  ['headersTimeoutMs', 0.5],
  ['bodyTimeoutMs', Number.NaN],
])('refuses %s %d', (name, value) => {
  const limits = name === 'maxConcurrency' ? {} : { [name]: value };
  const maxConcurrency = name === 'maxConcurrency' ? value : 1;
  const create = () =>
    createHttpTransport({
      baseUrl: 'http://127.0.0.1:9',
      maxConcurrency,
      userAgent: 'x',
      now: Date.now,
      limits,
    });
  expect(create).toThrow(RangeError);
});

test.each(['ftp://127.0.0.1', 'http://user:pass@127.0.0.1', 'nothing'])(
  'refuses the base URL %s',
  (baseUrl) => {
    const create = () => createHttpTransport({ baseUrl, maxConcurrency: 1, userAgent: 'x', now: Date.now });
    expect(create).toThrow(TypeError);
  },
);
