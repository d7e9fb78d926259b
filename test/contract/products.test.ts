import { expect } from 'vitest';
import { sellable, type Kind, type Product } from '../../src/sandbox/world/model.ts';
import { STORE_ID } from '../../src/sandbox/world/render.ts';
import { present } from '../shared/present.ts';
import { levelOf, variantOf, lamp as newLamp, type Json } from '../sandbox/harness.ts';
import { rule, type Context } from './contract.ts';
import { fieldRule } from './fields.ts';
import { errorOf } from './raw.ts';

const LIST = '/v1/product/list';
const DETAIL = '/v1/product/detail';

const ID = /^[0-9]+$/;

type Detail = Json & { readonly variants: readonly Json[] };
type Row = { readonly id: string; readonly name: string; readonly image_url?: string };

async function detail({ raw }: Context, productId: string): Promise<Detail> {
  const { status, body } = await raw.post(DETAIL, { product_id: productId });
  expect(status).toBe(200);
  return body['product'] as Detail;
}
const details = ({ sandbox, ...rest }: Context, kind?: Kind): Promise<Detail[]> =>
  Promise.all(
    sandbox.truth.products
      .filter((product) => !product.deleted && (kind === undefined || product.kind === kind))
      .map(({ id }) => detail({ sandbox, ...rest }, id)),
  );
const rows = async ({ raw }: Context, body?: Json): Promise<Row[]> =>
  (await raw.post(LIST, body)).body['products'] as Row[];
const ids = async (context: Context, body?: Json) => (await rows(context, body)).map(({ id }) => id);
const byValue = (a: string, b: string): number => (BigInt(a) < BigInt(b) ? -1 : 1);
async function inVariants(context: Context, field: string, kind?: Kind) {
  const all = (await details(context, kind)).flatMap(({ variants }) => variants);
  expect(all.length).toBeGreaterThan(0);
  const present = all.filter((variant) => field in variant).map((variant) => variant[field]);
  return { present, absent: all.length - present.length };
}
const KINDS: readonly Kind[] = ['own', 'pulled', 'bundle', 'assembled'];

/** Only variants of these kinds have the field. */
async function expectOnly(context: Context, field: string, kinds: readonly Kind[]): Promise<void> {
  for (const kind of KINDS) {
    const { present, absent } = await inVariants(context, field, kind);
    expect([kind, kinds.includes(kind) ? absent : present.length]).toEqual([kind, 0]);
  }
}

/** A product of two lamps and three bulbs. */
function composed({ sandbox, lamp }: Context, kind: 'bundle' | 'assembled') {
  const bulb = newLamp(sandbox, { sku: 'BULB-1' });
  const components = [
    { variantId: lamp.id, qty: 2 },
    { variantId: bulb.id, qty: 3 },
  ];
  const { product } = sandbox.operations.createProduct({ kind, components });
  return { product, bulb, variant: present(product.variants[0]) };
}

rule(
  ['product.field.id', 'product.field.name', 'product.field.store_id'],
  'are answered for every kind',
  async (context) => {
    const { truth } = context.sandbox;
    for (const product of truth.products) {
      expect(await detail(context, product.id)).toMatchObject({
        id: product.id,
        name: product.name,
        store_id: STORE_ID,
      });
    }
    expect(STORE_ID).toMatch(ID);
  },
);

rule(
  ['product.field.parent_id', 'product.pulled', 'variant.field.pulled_from_product_variant_id'],
  'are answered for pulled products only',
  async (context) => {
    for (const kind of KINDS) {
      for (const product of await details(context, kind)) {
        const isPulled = kind === 'pulled';
        expect('parent_id' in product).toBe(isPulled);
        if (isPulled) expect(product['parent_id']).toMatch(ID);
        for (const variant of product.variants) {
          expect('pulled_from_product_variant_id' in variant).toBe(isPulled);
          if (isPulled) expect(variant['pulled_from_product_variant_id']).toMatch(ID);
        }
      }
    }
  },
);

rule('variant.field.sku', 'may be absent or shared', async (context) => {
  const none = newLamp(context.sandbox, { sku: null });
  const [first, second] = [1, 2].map(() => newLamp(context.sandbox, { sku: 'OLD-9' }));
  const shown = async ({ id }: Product) => present((await detail(context, id)).variants[0]);
  expect(await shown(none.product)).not.toHaveProperty('sku');
  expect(await shown(present(first).product)).toMatchObject({ sku: 'OLD-9' });
  expect(await shown(present(second).product)).toMatchObject({ sku: 'OLD-9' });
});

rule(
  [
    'variant.field.product_assembly_id',
    'variant.field.assembled_pp_count',
    'variant.field.assembled_sum_qty',
  ],
  'follow assembly and disassembly',
  async (context) => {
    const { product, bulb, variant } = composed(context, 'assembled');
    const shown = async () => (await detail(context, product.id)).variants[0];
    expect(await shown()).toMatchObject({
      product_assembly_id: expect.stringMatching(ID),
      assembled_pp_count: 2,
      assembled_sum_qty: 5,
      available_qty: 0,
      on_hand: 0,
    });
    context.sandbox.operations.assemble({ ...levelOf(variant), units: 2 });
    expect(await shown()).toMatchObject({ available_qty: 2, on_hand: 2 });
    expect([sellable(context.lamp), sellable(bulb)]).toEqual([6, 4]);
    context.sandbox.operations.disassemble({ ...levelOf(variant), units: 1 });
    expect(await shown()).toMatchObject({ available_qty: 1 });
    expect([sellable(context.lamp), sellable(bulb)]).toEqual([8, 7]);
    for (const field of ['product_assembly_id', 'assembled_pp_count', 'assembled_sum_qty']) {
      await expectOnly(context, field, ['assembled']);
    }
  },
);

rule(
  ['variant.field.available_qty', 'variant.field.on_hand', 'variant.field.reserved_qty'],
  'add up over all warehouses',
  async (context) => {
    const variant = variantOf(context.sandbox, 'own', 2);
    variant.allowNegativeStock = true;
    for (const { warehouseId } of variant.levels) {
      context.sandbox.operations.reserve([{ variantId: variant.id, warehouseId, qty: 1 }]);
    }
    const all = [...(await details(context, 'own')), ...(await details(context, 'assembled'))].flatMap(
      ({ variants }) => variants,
    ) as (Json & Record<string, number>)[];
    for (const shown of all) {
      expect(shown['available_qty']).toBe(present(shown['on_hand']) - present(shown['reserved_qty']));
      const levels = shown['warehouses'] as unknown as Record<string, number>[];
      for (const field of ['available_qty', 'on_hand', 'reserved_qty']) {
        expect(shown[field]).toBe(levels.reduce((sum, level) => sum + present(level[field]), 0));
      }
    }
    const mine = all.find((shown) => shown['product_variant_id'] === (variant.id as unknown));
    expect(mine).toMatchObject({ reserved_qty: variant.levels.length });
    for (const { variants } of await details(context)) {
      for (const shown of variants) expect(Number.isSafeInteger(shown['available_qty'])).toBe(true);
    }
  },
);

rule('product-list.body', 'accepts no body, {} or a search', async ({ raw }) => {
  for (const body of [undefined, {}, { limit: 20 }]) {
    expect((await raw.post(LIST, body)).body['products']).toHaveLength(20);
  }
  expect((await raw.post(LIST, undefined, { headers: { 'content-type': '' } })).status).toBe(200);
  for (const body of ['[]', '"x"', 'null', '{']) {
    expect(errorOf(await raw.post(LIST, body))).toEqual([400, 'invalid_request']);
  }
});

fieldRule(['product-list.field.limit', 'limits.product-page'], 'accepts 1 to 100', {
  path: LIST,
  taken: [
    [{ limit: 1 }, { has_more: true }],
    [{ limit: 100 }, { has_more: false }],
    [{ limit: 21 }, { has_more: false }],
    [{}, { has_more: true }],
  ],
  refused: [0, 101, -1, 2.5, '20'].map((limit) => [{ limit }, 'limit']),
});

fieldRule(['product-list.field.offset', 'limits.product-page'], 'accepts 0 and more', {
  path: LIST,
  taken: [
    [{ offset: 0 }, { has_more: true }],
    [{ offset: 1_000 }, { products: [], has_more: false }],
  ],
  refused: [-1, 0.5, '1'].map((offset) => [{ offset }, 'offset']),
});

rule(
  ['product-list.field.sort_by', 'product-list.field.sort_order'],
  'sorts by each key in both orders',
  async (context) => {
    const { truth } = context.sandbox;
    const keys: Record<string, (product: Product) => number | string | bigint> = {
      update_time: (product) => product.updateTimeMs,
      create_time: (product) => product.createTimeMs,
      name: (product) => product.name,
      id: (product) => BigInt(product.id),
    };
    for (const [sortBy, key] of Object.entries(keys)) {
      const sorted = async (order: string) => {
        const found = await ids(context, { sort_by: sortBy, sort_order: order, limit: 100 });
        return found.map((id) => key(present(truth.product(id))));
      };
      const rising = await sorted('asc');
      expect(rising).toHaveLength(21);
      for (let n = 1; n < rising.length; n += 1)
        expect(present(rising[n]) >= present(rising[n - 1])).toBe(true);
      expect(await sorted('desc')).toEqual(rising.toReversed());
    }
    const both = { sort_by: 'update_time', sort_order: 'desc', limit: 100 };
    expect(await ids(context, { limit: 100 })).toEqual(await ids(context, both));
    expect(await ids(context, { sort_by: 'name' })).toEqual(
      await ids(context, { sort_by: 'name', sort_order: 'desc' }),
    );
  },
);

fieldRule(['product-list.field.sort_by', 'product-list.field.sort_order'], 'refuses other words', {
  path: LIST,
  refused: [
    [{ sort_by: 'price' }, 'sort_by'],
    [{ sort_order: 'up' }, 'sort_order'],
    [{ sort_order: 'ASC' }, 'sort_order'],
  ],
});

fieldRule('product-list.field.get_count', 'counts all pages', {
  path: LIST,
  taken: [
    [{ get_count: true, limit: 1 }, { total: 21 }],
    [
      { get_count: true, query: 'Lamp', limit: 1 },
      ({ sandbox }) => ({
        total: sandbox.truth.products.filter(({ name }) => /lamp/i.test(name)).length,
      }),
    ],
  ],
  refused: [[{ get_count: 1 }, 'get_count']],
});

rule('product-list.by-id', 'returns each product once despite edits between pages', async (context) => {
  const seen: string[] = [];
  const expected = context.sandbox.truth.products.map(({ id }) => id).sort(byValue);
  for (let offset = 0; offset < 21; offset += 5) {
    seen.push(...(await ids(context, { sort_by: 'id', sort_order: 'asc', limit: 5, offset })));
    context.advance(1_000);
    for (const id of expected) context.sandbox.operations.renameProduct(id, `edited ${offset}`);
  }
  expect(seen).toEqual(expected);
});

fieldRule('product-detail.field.product_id', 'accepts digits', {
  path: DETAIL,
  taken: [
    [({ lamp }) => ({ product_id: lamp.product.id }), ({ lamp }) => ({ product: { id: lamp.product.id } })],
  ],
  refused: [
    [{}, 'product_id'],
    [{ product_id: null }, 'product_id'],
    [{ product_id: 12 }, 'product_id'],
    [{ product_id: '12a' }, 'product_id'],
  ],
});

rule(
  ['product-detail.not-found', 'errors.rule.2'],
  'answers the same 404 for every miss',
  async ({ raw, sandbox, lamp }) => {
    sandbox.operations.deleteProduct(lamp.product.id);
    // The pulled product's original exists only in the seller's store.
    const sellers = present(sandbox.truth.products.find(({ parentId }) => parentId !== null)).parentId;
    const misses = ['1', lamp.product.id, sellers, lamp.id, '0', '9'.repeat(40)];
    const answers = await Promise.all(misses.map((id) => raw.post(DETAIL, { product_id: id })));
    for (const answer of answers) {
      expect(errorOf(answer)).toEqual([404, 'not_found']);
      expect(answer.body).toEqual(present(answers[0]).body);
    }
    sandbox.operations.restoreProduct(lamp.product.id);
    expect((await raw.post(DETAIL, { product_id: lamp.product.id })).status).toBe(200);
  },
);
