import { expect } from 'vitest';
import { sellable } from '../../src/sandbox/world/model.ts';
import type { Kind, Product } from '../../src/sandbox/world/model.ts';
import { present } from '../shared/present.ts';
import { levelOf, variantOf } from '../sandbox/harness.ts';
import type { Json } from '../sandbox/harness.ts';
import { lamp as newLamp } from '../sandbox/harness.ts';
import { rule } from './contract.ts';
import type { Context } from './contract.ts';
import { fieldRule } from './fields.ts';
import { errorOf, expectRefused } from './raw.ts';

const LIST = '/v1/product/list';
const DETAIL = '/v1/product/detail';

const ID = /^[0-9]+$/;
const MONEY = /^-?[0-9]+(\.[0-9]+)?$/;

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

/** A field of every product, and of how many it is absent. */
async function everywhere(
  context: Context,
  field: string,
  kind?: Kind,
): Promise<{ present: unknown[]; absent: number }> {
  const all = await details(context, kind);
  expect(all.length).toBeGreaterThan(0);
  const present = all.filter((product) => field in product).map((product) => product[field]);
  return { present, absent: all.length - present.length };
}
async function inVariants(context: Context, field: string, kind?: Kind) {
  const all = (await details(context, kind)).flatMap(({ variants }) => variants);
  expect(all.length).toBeGreaterThan(0);
  const present = all.filter((variant) => field in variant).map((variant) => variant[field]);
  return { present, absent: all.length - present.length };
}
const KINDS: readonly Kind[] = ['own', 'pulled', 'bundle', 'assembled'];

/** The field is there on variants of these kinds, and on no others. */
async function expectOnly(context: Context, field: string, kinds: readonly Kind[]): Promise<void> {
  for (const kind of KINDS) {
    const { present, absent } = await inVariants(context, field, kind);
    expect([kind, kinds.includes(kind) ? absent : present.length]).toEqual([kind, 0]);
  }
}

const isTime = (value: unknown): boolean =>
  Number.isSafeInteger(value) && (value as number) > 1_577_000_000_000;
const isUri = (value: unknown): boolean => typeof value === 'string' && URL.canParse(value);
const PICTURES = ['img_uris', 'thumbnail_uris', 'tiny_img_uris'] as const;
/** The pictures' names, without the size. */
const namesOf = (uris: unknown): string[] =>
  (uris as string[]).map((uri) => uri.split('/').slice(-2).join('/'));

/** Made of two lamps and three bulbs. */
function composed({ sandbox, lamp }: Context, kind: 'bundle' | 'assembled') {
  const bulb = newLamp(sandbox, { sku: 'BULB-1' });
  const components = [
    { variantId: lamp.id, qty: 2 },
    { variantId: bulb.id, qty: 3 },
  ];
  const { product } = sandbox.operations.createProduct({ kind, components });
  return { product, bulb, variant: present(product.variants[0]) };
}

rule('product-row.field.image_url', 'the first of its pictures', async (context) => {
  const all = await rows(context, { limit: 100 });
  for (const { id, image_url: url } of all) {
    const { img_uris: pictures } = await detail(context, id);
    expect(url).toBe((pictures as string[])[0]);
  }
  expect(all.some((row) => 'image_url' in row)).toBe(true);
  expect(all.every((row) => 'image_url' in row)).toBe(false);
});

rule(
  ['product.field.id', 'product.field.name', 'product.field.store_id'],
  'of every kind',
  async (context) => {
    const { truth } = context.sandbox;
    for (const product of truth.products) {
      expect(await detail(context, product.id)).toMatchObject({
        ...{ id: product.id, name: product.name, store_id: truth.storeId },
      });
    }
    expect(truth.storeId).toMatch(ID);
  },
);

rule(
  ['product.field.img_uris', 'product.field.thumbnail_uris', 'product.field.tiny_img_uris'],
  'three sizes of the same pictures',
  async (context) => {
    const counts = new Set<number>();
    for (const product of await details(context)) {
      for (const field of PICTURES) {
        expect((product[field] as unknown[]).every(isUri)).toBe(true);
        expect(namesOf(product[field])).toEqual(namesOf(product['img_uris']));
      }
      const all = PICTURES.flatMap((field) => product[field] as string[]);
      expect(new Set(all).size).toBe(all.length);
      counts.add((product['img_uris'] as string[]).length);
    }
    expect(counts.has(0)).toBe(true);
    expect(counts.size).toBeGreaterThan(1);
  },
);

rule(
  ['product.field.create_time', 'product.field.update_time'],
  'an edit moves the second',
  async (context) => {
    const { lamp, sandbox, advance } = context;
    for (const field of ['create_time', 'update_time']) {
      const { present } = await everywhere(context, field);
      expect(present.length).toBeGreaterThan(0);
      expect(present.every(isTime)).toBe(true);
    }
    const before = await detail(context, lamp.product.id);
    advance(5_000);
    sandbox.operations.renameProduct(lamp.product.id, 'Newer lamp');
    expect(await detail(context, lamp.product.id)).toMatchObject({
      create_time: before['create_time'],
      update_time: sandbox.clock.now(),
    });
  },
);

rule('product.field.warehouse_ids', 'those of its variants', async (context) => {
  for (const kind of ['own', 'assembled'] as const) {
    for (const product of await details(context, kind)) {
      const stocked = product.variants.flatMap((variant) =>
        ((variant['warehouses'] ?? []) as { wh_id: string }[]).map((warehouse) => warehouse.wh_id),
      );
      expect([...(product['warehouse_ids'] as string[])].sort()).toEqual([...new Set(stocked)].sort());
    }
  }
});

rule(['product.field.min', 'product.field.max'], 'of the live variants', async (context) => {
  const product = context.lamp.product;
  const { variant } = context.sandbox.operations.createVariant(product.id, {});
  variant.price = '1000.00';
  const third = context.sandbox.operations.createVariant(product.id, {}).variant;
  third.price = '90.50';
  expect(await detail(context, product.id)).toMatchObject({ min: '90.50', max: '1000.00' });
  context.sandbox.operations.deleteVariant(variant.id);
  expect(await detail(context, product.id)).toMatchObject({ min: '90.50', max: '250.00' });
  for (const each of await details(context)) {
    expect(each['min']).toMatch(MONEY);
    expect(Number(each['max'])).toBeGreaterThanOrEqual(Number(each['min']));
  }
});

rule(
  ['product.field.parent_id', 'product.pulled', 'variant.field.pulled_from_product_variant_id'],
  'of pulled products, and of no others',
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

rule('variant.field.product_variant_id', 'what an order takes', async (context) => {
  const { variants } = await detail(context, context.lamp.product.id);
  const id = present(variants[0])['product_variant_id'];
  expect(id).toMatch(ID);
  const made = await context.order({ products: [{ product_variant_id: id, qty: 1 }] });
  expect(made['products']).toMatchObject([{ product_variant_id: id }]);
});

rule('variant.field.name', 'one that the buyer picks, where there are several', async (context) => {
  for (const product of context.sandbox.truth.products) {
    const names = (await detail(context, product.id)).variants.map(({ name }) => name);
    if (names.length === 1) expect(names).toEqual(['']);
    else expect(names.every((name) => typeof name === 'string' && name !== '')).toBe(true);
  }
});

rule(
  ['variant.field.img_url', 'variant.field.thumbnail_url', 'variant.field.tiny_img_url'],
  'three sizes of one picture',
  async (context) => {
    const all = (await details(context)).flatMap(({ variants }) => variants);
    const fields = ['img_url', 'thumbnail_url', 'tiny_img_url'];
    for (const variant of all) {
      const told = fields.filter((field) => field in variant);
      expect([0, 3]).toContain(told.length);
      const urls = told.map((field) => variant[field]);
      expect(urls.every(isUri)).toBe(true);
      expect(new Set(namesOf(urls)).size).toBe(Math.min(1, told.length));
      expect(new Set(urls).size).toBe(told.length);
    }
    expect(all.some((variant) => 'img_url' in variant)).toBe(true);
    expect(all.every((variant) => 'img_url' in variant)).toBe(false);
  },
);

rule('variant.field.sku', 'absent, its own, and shared', async (context) => {
  const none = newLamp(context.sandbox, { sku: null });
  const [first, second] = [1, 2].map(() => newLamp(context.sandbox, { sku: 'OLD-9' }));
  const shown = async ({ id }: Product) => present((await detail(context, id)).variants[0]);
  expect(await shown(none.product)).not.toHaveProperty('sku');
  expect(await shown(present(first).product)).toMatchObject({ sku: 'OLD-9' });
  expect(await shown(present(second).product)).toMatchObject({ sku: 'OLD-9' });
});

rule(
  ['variant.field.product_bundle_id', 'variant.field.bundled_pp_count', 'variant.field.bundled_sum_qty'],
  'what its scarcest component allows',
  async (context) => {
    const { product, bulb, variant } = composed(context, 'bundle');
    const shown = async () => (await detail(context, product.id)).variants[0];
    expect(await shown()).toMatchObject({
      product_bundle_id: expect.stringMatching(ID),
      ...{ bundled_pp_count: 2, bundled_sum_qty: 5, available_qty: 3 },
    });
    context.sandbox.operations.adjust({ ...levelOf(bulb), to: 5 });
    expect(await shown()).toMatchObject({ available_qty: 1 });
    context.sandbox.operations.deleteProduct(bulb.product.id);
    expect(await shown()).toMatchObject({ available_qty: 0 });
    expect(variant.levels).toEqual([]);
    for (const field of ['product_bundle_id', 'bundled_pp_count', 'bundled_sum_qty']) {
      await expectOnly(context, field, ['bundle']);
    }
  },
);

rule('variant.field.bundled_by_count', 'and no set leaves it absent', async (context) => {
  const shown = async ({ product }: { product: Product }) => (await detail(context, product.id)).variants[0];
  expect(await shown(context.lamp)).not.toHaveProperty('bundled_by_count');
  const set = composed(context, 'bundle');
  expect(await shown(context.lamp)).toMatchObject({ bundled_by_count: 1 });
  await context.order({ products: [{ product_variant_id: set.variant.id, qty: 2 }] });
  expect(await shown(context.lamp)).toMatchObject({ available_qty: 6, reserved_qty: 4 });
  expect(await shown(set.bulb)).toMatchObject({ available_qty: 4, reserved_qty: 6 });
  context.sandbox.operations.deleteProduct(set.product.id);
  expect(await shown(context.lamp)).not.toHaveProperty('bundled_by_count');
});

rule(
  [
    'variant.field.product_assembly_id',
    'variant.field.assembled_pp_count',
    'variant.field.assembled_sum_qty',
  ],
  'built and taken apart',
  async (context) => {
    const { product, bulb, variant } = composed(context, 'assembled');
    const shown = async () => (await detail(context, product.id)).variants[0];
    expect(await shown()).toMatchObject({
      product_assembly_id: expect.stringMatching(ID),
      ...{ assembled_pp_count: 2, assembled_sum_qty: 5, available_qty: 0, on_hand: 0 },
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

rule('variant.field.allow_negative_stock', 'and without it there is an end', async (context) => {
  const { lamp, raw, body, order } = context;
  const shown = async () => (await detail(context, lamp.product.id)).variants[0];
  expect(await shown()).not.toHaveProperty('allow_negative_stock');
  await order({ products: [{ sku: 'LAMP-1', qty: 10 }] });
  expect(errorOf(await raw.post('/v1/order/create', body()))).toEqual([400, 'invalid_request']);
  lamp.allowNegativeStock = true;
  await order({ products: [{ sku: 'LAMP-1', qty: 2 }] });
  expect(await shown()).toMatchObject({ allow_negative_stock: true, available_qty: -2, reserved_qty: 12 });
  const { present } = await inVariants(context, 'allow_negative_stock');
  expect(new Set(present)).toEqual(new Set([true]));
});

rule(
  ['variant.field.available_qty', 'variant.field.on_hand', 'variant.field.reserved_qty'],
  'on_hand minus reserved_qty, over all warehouses',
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

rule('variant.field.available_qty', 'of a pulled product, the seller’s stock', async (context) => {
  const variant = variantOf(context.sandbox, 'pulled');
  const shown = async () =>
    (await detail(context, variant.product.id)).variants.find(
      (each) => each['product_variant_id'] === variant.id,
    );
  const before = present(await shown())['available_qty'] as number;
  context.sandbox.operations.add({ ...levelOf(variant), by: 7 });
  expect(await shown()).toMatchObject({ available_qty: before + 7 });
});

rule('variant.field.reserved_qty', 'until it ships', async (context) => {
  const { id } = await context.order({ products: [{ sku: 'LAMP-1', qty: 4 }] });
  const shown = async () => (await detail(context, context.lamp.product.id)).variants[0];
  expect(await shown()).toMatchObject({ on_hand: 10, reserved_qty: 4, available_qty: 6 });
  await context.steer('/operations', { operation: 'ship', order_id: id });
  expect(await shown()).toMatchObject({ on_hand: 6, reserved_qty: 0, available_qty: 6 });
});

rule('product-list.body', 'nothing, {} or a search', async ({ raw }) => {
  for (const body of [undefined, {}, { limit: 20 }]) {
    expect((await raw.post(LIST, body)).body['products']).toHaveLength(20);
  }
  expect((await raw.post(LIST, undefined, { headers: { 'content-type': '' } })).status).toBe(200);
  for (const body of ['[]', '"x"', 'null', '{']) {
    expect(errorOf(await raw.post(LIST, body))).toEqual([400, 'invalid_request']);
  }
});

fieldRule(['product-list.field.limit', 'limits.product-page'], '1 to 100', {
  path: LIST,
  taken: [
    [{ limit: 1 }, { has_more: true }],
    [{ limit: 100 }, { has_more: false }],
    [{ limit: 21 }, { has_more: false }],
    [{}, { has_more: true }],
  ],
  refused: [0, 101, -1, 2.5, '20'].map((limit) => [{ limit }, 'limit']),
});

fieldRule(['product-list.field.offset', 'limits.product-page'], 'from 0', {
  path: LIST,
  taken: [
    [{ offset: 0 }, { has_more: true }],
    [{ offset: 1_000 }, { products: [], has_more: false }],
  ],
  refused: [-1, 0.5, '1'].map((offset) => [{ offset }, 'offset']),
});

rule('product-list.field.query', 'in any case', async (context) => {
  for (const name of ['Blue LANTERN', 'lantern shade', 'เสื้อคลุม', 'ÉCLAIR']) {
    context.sandbox.operations.createProduct({ name });
  }
  const names = async (query: string) => (await rows(context, { query })).map(({ name }) => name).sort();
  expect(await names('LaNtErN')).toEqual(['Blue LANTERN', 'lantern shade']);
  expect(await names('tern s')).toEqual(['lantern shade']);
  expect(await names('เสื้อคลุม')).toEqual(['เสื้อคลุม']);
  expect(await names('éclair')).toEqual(['ÉCLAIR']);
  expect(await names('.*')).toEqual([]);
  expect(await names('')).toHaveLength(20);
  expectRefused(await context.raw.post(LIST, { query: 7 }), 'query');
});

rule(['product-list.field.sort_by', 'product-list.field.sort_order'], 'each, both ways', async (context) => {
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
});

fieldRule(['product-list.field.sort_by', 'product-list.field.sort_order'], 'no other words', {
  path: LIST,
  taken: ['update_time', 'create_time', 'name', 'id'].flatMap((by) =>
    ['desc', 'asc'].map((order) => [{ sort_by: by, sort_order: order }, { has_more: true }] as const),
  ),
  refused: [
    [{ sort_by: 'price' }, 'sort_by'],
    [{ sort_order: 'up' }, 'sort_order'],
    [{ sort_order: 'ASC' }, 'sort_order'],
  ],
});

fieldRule('product-list.field.get_count', 'over all pages', {
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

rule('product-list.paging', 'to the last page, each product once', async ({ raw, sandbox }) => {
  for (const limit of [1, 7, 20, 21]) {
    const seen: string[] = [];
    for (let offset = 0; ; offset += limit) {
      const { body } = await raw.post(LIST, { limit, offset });
      seen.push(...(body['products'] as Row[]).map(({ id }) => id));
      if (body['has_more'] !== true) break;
    }
    expect(seen.sort()).toEqual(sandbox.truth.products.map(({ id }) => id).sort());
  }
});

rule('product-list.by-id', 'though everything is edited between the pages', async (context) => {
  const seen: string[] = [];
  const expected = context.sandbox.truth.products.map(({ id }) => id).sort(byValue);
  for (let offset = 0; offset < 21; offset += 5) {
    seen.push(...(await ids(context, { sort_by: 'id', sort_order: 'asc', limit: 5, offset })));
    context.advance(1_000);
    for (const id of expected) context.sandbox.operations.renameProduct(id, `edited ${offset}`);
  }
  expect(seen).toEqual(expected);
});

fieldRule('product-detail.field.product_id', 'of digits', {
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

rule(['product-detail.not-found', 'errors.rule.2'], 'word for word', async ({ raw, sandbox, lamp }) => {
  sandbox.operations.deleteProduct(lamp.product.id);
  // The product of the seller's store exists, but there.
  const sellers = present(sandbox.truth.products.find(({ parentId }) => parentId !== null)).parentId;
  const misses = ['1', lamp.product.id, sellers, lamp.id, '0', '9'.repeat(40)];
  const answers = await Promise.all(misses.map((id) => raw.post(DETAIL, { product_id: id })));
  for (const answer of answers) {
    expect(errorOf(answer)).toEqual([404, 'not_found']);
    expect(answer.body).toEqual(present(answers[0]).body);
  }
  sandbox.operations.restoreProduct(lamp.product.id);
  expect((await raw.post(DETAIL, { product_id: lamp.product.id })).status).toBe(200);
});
