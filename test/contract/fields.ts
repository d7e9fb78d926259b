/** Rules of request fields as tables, checked over plain HTTP and through the client. */
import { expect } from 'vitest';
import type { Client } from '../../src/client.ts';
import { sellable } from '../../src/sandbox/world/model.ts';
import { failureOf } from '../store-api/connection.ts';
import type { Json } from '../sandbox/harness.ts';
import { rule, type Context } from './contract.ts';
import { expectRefused } from './raw.ts';

type Given = Json | ((context: Context) => Json);

type FieldTable = {
  readonly path:
    | '/v1/order/create'
    | '/v1/order/detail'
    | '/v1/store/address/list'
    | '/v1/product/list'
    | '/v1/product/detail';
  /** Accepted fields, and a part of the answer. */
  readonly taken?: readonly (readonly [sent: Given, shown?: Given])[];
  /** Refused fields, and a part of the description. */
  readonly refused?: readonly (readonly [sent: Given, named: string])[];
};

export function fieldRule(ids: string | readonly string[], name: string, table: FieldTable): void {
  const { path, taken = [], refused = [] } = table;
  rule(ids, name, async (context) => {
    for (const [sent, shown = {}] of taken) {
      const answer = await context.raw.post(path, bodyOf(context, path, sent));
      expect(answer).toMatchObject({ status: 200, body: given(context, shown) });
    }
    const before = sellable(context.lamp);
    for (const [sent, named] of refused) {
      expectRefused(await context.raw.post(path, bodyOf(context, path, sent)), named);
    }
    expect(sellable(context.lamp)).toBe(before);
  });
  rule(ids, `${name} (client)`, async (context) => {
    const client = context.client();
    for (const [sent, shown = {}] of taken) {
      const answer = await viaClient(client, path, bodyOf(context, path, sent));
      expect(answer).toMatchObject(given(context, shown));
    }
    for (const [sent, named] of refused) {
      const error = await failureOf(viaClient(client, path, bodyOf(context, path, sent)));
      expect(error).toMatchObject({
        kind: 'rejected',
        code: 'invalid_request',
        description: expect.stringContaining(named),
      });
    }
  });
}

function given(context: Context, value: Given): Json {
  return typeof value === 'function' ? value(context) : value;
}

function bodyOf(context: Context, path: string, sent: Given): Json {
  const fields = given(context, sent);
  return path === '/v1/order/create' ? context.body(fields) : fields;
}

/** Sends through the client, also bodies that its types forbid. */
async function viaClient(client: Client, path: FieldTable['path'], body: Json): Promise<Json> {
  switch (path) {
    case '/v1/order/create':
      return { order: (await client.createOrder(body as never)).rawOrder };
    case '/v1/order/detail': {
      const answer = await client.orderDetail(body as never);
      expect(answer.outcome).toBe('found');
      return { order: answer.outcome === 'found' && answer.rawOrder };
    }
    case '/v1/store/address/list':
      return { ...(await client.listAddresses(body)).page };
    case '/v1/product/list':
      return { ...(await client.listProducts(body)).page };
    case '/v1/product/detail': {
      const answer = await client.productDetail(body['product_id'] as string);
      expect(answer.outcome).toBe('found');
      return { product: answer.outcome === 'found' && answer.rawProduct };
    }
  }
}
