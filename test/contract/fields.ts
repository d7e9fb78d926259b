/** Rules of request fields as tables. */
import { expect } from 'vitest';
import { sellable } from '../../src/sandbox/world/model.ts';
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
}

function given(context: Context, value: Given): Json {
  return typeof value === 'function' ? value(context) : value;
}

function bodyOf(context: Context, path: string, sent: Given): Json {
  const fields = given(context, sent);
  return path === '/v1/order/create' ? context.body(fields) : fields;
}
