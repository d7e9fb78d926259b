import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import type { ServiceError } from '../../src/store-api/transport/errors.ts';
import { connected, failureOf, SECRET } from './connection.ts';
import { sendJson } from './stub-service.ts';
import type { Answering } from './stub-service.ts';

const TOKEN_VALUE = 'tok_0123456789abcdef';
const IN_FORM = new URLSearchParams({ s: SECRET }).toString().slice(2);

/** Everything a logger could print of it. */
function allOf(error: ServiceError): string {
  const shown = inspect(error, { depth: Infinity, showHidden: true, getters: true, maxStringLength: null });
  return `${shown}\n${JSON.stringify(error)}\n${error.stack ?? ''}`;
}

function expectNoSecret(error: ServiceError): void {
  for (const secret of [SECRET, IN_FORM, TOKEN_VALUE]) expect(allOf(error)).not.toContain(secret);
}

const issue: Answering = (response) =>
  sendJson(response, 200, { access_token: TOKEN_VALUE, token_type: 'Bearer', expires_in: 14400 });

describe('no error shows the secret when the token endpoint', () => {
  test.each<[string, Answering]>([
    [
      'refuses and repeats it',
      (response, { body }) =>
        sendJson(response, 401, { error: 'invalid_client', error_description: `no ${SECRET} nor ${body}` }),
    ],
    [
      'fails and repeats it as a code and a request id',
      (response, { body }) =>
        sendJson(response, 500, { error: SECRET, error_description: body }, { 'X-Request-Id': IN_FORM }),
    ],
    [
      'repeats it at the end of a long text',
      (response) =>
        sendJson(response, 400, {
          error: 'invalid_request',
          error_description: `${'x'.repeat(500 - SECRET.length / 2)}${SECRET}`,
        }),
    ],
    [
      'answers a cut body',
      (response) => void response.writeHead(200).end(`{"access_token":"${TOKEN_VALUE}"`),
    ],
    ['answers a bare token', (response) => void response.writeHead(200).end(TOKEN_VALUE)],
    [
      'answers another shape',
      (response) =>
        sendJson(response, 200, { access_token: TOKEN_VALUE, token_type: TOKEN_VALUE, expires_in: SECRET }),
    ],
    [
      'answers what is not HTTP',
      (response) => {
        response.socket?.end(
          `HTTP/1.1 200 OK\r\nContent-Length: oops${TOKEN_VALUE}\r\n\r\n${TOKEN_VALUE} ${SECRET}`,
        );
      },
    ],
    [
      'cuts the connection',
      (response) => {
        response.writeHead(200, { 'content-length': '1000' });
        response.write(TOKEN_VALUE, () => response.destroy());
      },
    ],
  ])('%s', async (_name, answering) => {
    const { service, tokens } = await connected();
    service.answer('/oauth/token', answering);
    expectNoSecret(await failureOf(tokens.getToken()));
    // Held back or locked out: what is remembered is repeated.
    expectNoSecret(await failureOf(tokens.getToken()));
  });
});

describe('no error shows the token when an endpoint', () => {
  test.each<[string, Answering]>([
    [
      'refuses and repeats it',
      (response, { headers }) =>
        sendJson(response, 401, { error: 'invalid_token', error_description: headers.authorization }),
    ],
    [
      'fails and repeats it',
      (response, { headers }) =>
        sendJson(response, 500, { error: TOKEN_VALUE, error_description: headers.authorization }),
    ],
    [
      'answers another shape',
      (response) => sendJson(response, 200, { products: TOKEN_VALUE, has_more: TOKEN_VALUE }),
    ],
    ['answers no JSON', (response) => void response.writeHead(200).end(TOKEN_VALUE)],
    [
      'answers what is not HTTP',
      (response) => void response.socket?.end(`HTTP/1.1 200 OK\r\nContent-Length: x${TOKEN_VALUE}\r\n\r\n`),
    ],
  ])('%s', async (_name, answering) => {
    const { service, client } = await connected();
    service.answer('/oauth/token', issue);
    service.answer('/v1/product/list', answering);
    expectNoSecret(await failureOf(client.listProducts()));
  });
});

test('text from the other side is cut and holds no control characters', async () => {
  const { service, client } = await connected();
  service.answer('/v1/product/list', (response) =>
    sendJson(response, 400, {
      error: 'a\u001b[31m',
      error_description: `b\r\nc\u2028d\u202e${'e'.repeat(2_000_000)}`,
    }),
  );
  const error = await failureOf(client.listProducts());
  expect(error.code).toBe('a [31m');
  expect(error.description).toMatch(/^b c d e{490,500}…$/);
  expect(error.message.length).toBeLessThan(800);
});
