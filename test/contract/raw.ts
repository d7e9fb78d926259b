/** Plain HTTP requests. Every answer is checked against the store's OpenAPI document. */
import { expect } from 'vitest';
import type { z } from 'zod';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import {
  addressListResponseSchema,
  orderResponseSchema,
} from '../../src/store-api/contract/order-schemas.ts';
import {
  productDetailResponseSchema,
  productListResponseSchema,
  stockItemSchema,
  tokenResponseSchema,
} from '../../src/store-api/contract/schemas.ts';
import type { Json } from '../sandbox/harness.ts';
import type { Received } from '../sandbox/receiver.ts';
import { checkAnswer, STORE_API } from './openapi.ts';

export type Answer = { readonly status: number; readonly headers: Headers; readonly body: Json };

type RawOptions = {
  readonly headers?: Record<string, string>;
  /** Replaces the first app's token; null sends none. */
  readonly token?: string | null;
  readonly method?: string;
};

export type Raw = {
  /** Sends JSON; a string is sent as it is, and undefined is no body. */
  post(path: string, body?: unknown, options?: RawOptions): Promise<Answer>;
  /** `POST /oauth/token` with the first app's credentials; `form` replaces fields, null omits them. */
  token(form?: Record<string, string | null>, headers?: Record<string, string>): Promise<Answer>;
  /** The client drops no field of an item. */
  checkWebhook(delivery: Received): void;
};

/** The client's schema for the 200 of each endpoint. */
const ANSWERS: Readonly<Record<string, z.ZodType>> = {
  '/oauth/token': tokenResponseSchema,
  '/v1/order/create': orderResponseSchema,
  '/v1/order/detail': orderResponseSchema,
  '/v1/store/address/list': addressListResponseSchema,
  '/v1/product/list': productListResponseSchema,
  '/v1/product/detail': productDetailResponseSchema,
};

export function createRaw(sandbox: Sandbox): Raw {
  let ownToken: Promise<string> | undefined;

  const send = async (path: string, init: RequestInit): Promise<Answer> => {
    const response = await fetch(sandbox.baseUrl + path, { method: 'POST', ...init });
    expect(response.headers.get('content-type')).toMatch(/^application\/json\b/);
    const { status, headers } = response;
    const answer = { status, headers, body: (await response.json()) as Json };
    const [endpoint = ''] = path.split('?');
    const { method = 'POST' } = init;
    const schema = ANSWERS[endpoint];
    if (method === 'POST' && schema !== undefined) {
      checkAnswer(STORE_API, { method, path: endpoint, ...answer });
      // The client drops no field.
      if (status === 200) expect(schema.parse(answer.body)).toEqual(answer.body);
    }
    return answer;
  };

  const raw: Raw = {
    post: async (path, body, { headers = {}, token, method = 'POST' } = {}) => {
      const bearer = token === undefined ? await (ownToken ??= accessToken(raw)) : token;
      return send(path, {
        method,
        headers: {
          ...(bearer !== null && { authorization: `Bearer ${bearer}` }),
          'content-type': 'application/json',
          ...headers,
        },
        body: body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body),
      });
    },
    token: (form = {}, headers = {}) => {
      const fields: Record<string, string | null> = {
        grant_type: 'client_credentials',
        client_id: sandbox.clientId,
        client_secret: sandbox.clientSecret,
        ...form,
      };
      const sent = Object.entries(fields).filter((entry): entry is [string, string] => entry[1] !== null);
      return send('/oauth/token', { headers, body: new URLSearchParams(sent) });
    },
    checkWebhook: ({ body }) => {
      for (const item of body.data.items) expect(stockItemSchema.parse(item)).toEqual(item);
    },
  };
  return raw;
}

export async function accessToken(raw: Raw, form: Record<string, string> = {}): Promise<string> {
  const { status, body } = await raw.token(form);
  expect(status).toBe(200);
  return body['access_token'] as string;
}

export function errorOf({ status, body }: Answer): unknown[] {
  return [status, body['error']];
}

export function expectRefused(answer: Answer, named: string): void {
  expect([...errorOf(answer), answer.body['error_description']]).toEqual([
    400,
    'invalid_request',
    expect.stringContaining(named),
  ]);
}
