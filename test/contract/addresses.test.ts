import { expect } from 'vitest';
import { present } from '../shared/present.ts';
import { recipient } from '../sandbox/harness.ts';
import type { Json } from '../sandbox/harness.ts';
import { rule } from './contract.ts';
import type { Context } from './contract.ts';
import { fieldRule } from './fields.ts';
import { errorOf } from './raw.ts';

const CREATE = '/v1/order/create';
const LIST = '/v1/store/address/list';

type Row = { readonly id: string; readonly name: string; readonly is_primary: boolean };

const to = (fields: Json): Json => ({ recipient_address: { ...recipient, ...fields } });
const kept = (fields: Json): readonly [Json, Json] => [to(fields), { order: to(fields) }];
const rows = async ({ raw }: Context, body?: unknown) =>
  (await raw.post(LIST, body)).body['addresses'] as Row[];
const add = (context: Context, name: string, as: 'primary' | 'other' = 'other') =>
  context.steer('/operations', { operation: 'add_address', address: { name }, is_primary: as === 'primary' });

/** Text, kept as it is sent; anything else is refused. */
const textField = (field: string, text: string): void =>
  fieldRule(`address.field.${field}`, 'optional text, kept as it is', {
    path: CREATE,
    taken: [kept({ [field]: text }), [to({ [field]: undefined })], [to({ [field]: null })]],
    refused: [[to({ [field]: 7 }), `recipient_address.${field}`]],
  });

fieldRule('address.field.name', 'required text', {
  path: CREATE,
  taken: [kept({ name: 'สมศรี' })],
  refused: [
    [to({ name: undefined }), 'recipient_address.name'],
    [to({ name: 7 }), 'recipient_address.name'],
  ],
});

[
  ['telephone', '+66 81-234 5678'],
  ['address1', '1/2 ซอยสุขใจ'],
  ['address2', 'ชั้น 3'],
  ['address3', 'ห้อง 12'],
  ['sub_district', 'บางรัก'],
  ['district', 'บางรัก'],
  ['province', 'กรุงเทพมหานคร'],
  ['note', 'ฝากไว้หน้าบ้าน'],
  ['legal_entity_id', '0105536000315'],
  ['branch_number', '00001'],
].flatMap(([field, text]) => textField(present(field), present(text)));

fieldRule('address.field.postal_code', 'a number of five digits, not a text', {
  path: CREATE,
  taken: [kept({ postal_code: 10_500 }), [to({ postal_code: undefined })]],
  refused: ['10500', 9_999, 100_000, 10_500.5].map((code) => [
    to({ postal_code: code }),
    'recipient_address.postal_code',
  ]),
});

fieldRule('address.field.email', 'in email format', {
  path: CREATE,
  taken: [kept({ email: 'somchai@example.co.th' }), [to({ email: undefined })]],
  refused: ['somchai', 'a@', '@example.com', 7].map((email) => [to({ email }), 'recipient_address.email']),
});

fieldRule('address.field.legal_entity_type', 'a whole number', {
  path: CREATE,
  taken: [kept({ legal_entity_type: 1 }), [to({ legal_entity_type: undefined })]],
  refused: ['1', 1.5].map((type) => [to({ legal_entity_type: type }), 'recipient_address.legal_entity_type']),
});

fieldRule('address.field.branch_type', 'h or b', {
  path: CREATE,
  taken: [kept({ branch_type: 'h' }), kept({ branch_type: 'b' }), [to({ branch_type: undefined })]],
  refused: ['x', 'H', 1].map((type) => [to({ branch_type: type }), 'recipient_address.branch_type']),
});

fieldRule('address.additional', 'other properties are refused, null or not', {
  path: CREATE,
  refused: [[to({ zip: 10_500 }), 'zip']],
});

fieldRule('address.label', 'a name alone is enough', {
  path: CREATE,
  taken: [[{ recipient_address: { name: 'สมศรี' } }, { order: { recipient_address: { name: 'สมศรี' } } }]],
});

rule('address.stored', 'its id is good for a later order of the same customer', async ({ order }) => {
  const { recipient_address: stored } = await order();
  expect(stored).toEqual({ ...recipient, id: expect.stringMatching(/^[0-9]+$/) });
  const again = await order({ recipient_address: null, recipient_address_id: (stored as Row).id });
  expect(again['recipient_address']).toEqual(stored);
});

rule('store-address.id', 'good as sender_address_id, each one', async (context) => {
  const all = await rows(context);
  expect(all).toHaveLength(3);
  for (const { id, is_primary: _, ...rest } of all) {
    expect(id).toMatch(/^[0-9]+$/);
    expect((await context.order({ sender_address_id: id }))['sender_address']).toEqual({ id, ...rest });
  }
});

rule(
  'store-address.is_primary',
  'told of every one; of several the first in the list decides',
  async (context) => {
    await add(context, 'later, primary too', 'primary');
    const all = await rows(context);
    expect(all.map((row) => row.is_primary)).toEqual([true, true, false, false]);
    expect((await context.order())['sender_address']).toMatchObject({ id: present(all[0]).id });
  },
);

rule('address-list.body', 'nothing, {} or a page', async ({ raw }) => {
  const sent = [undefined, {}, { limit: 100, offset: 0 }, { limit: null, offset: null }];
  for (const body of sent) {
    expect(await raw.post(LIST, body)).toMatchObject({ status: 200, body: { has_more: false } });
  }
  expect((await raw.post(LIST, undefined, { headers: { 'content-type': '' } })).status).toBe(200);
  expect(errorOf(await raw.post(LIST, []))).toEqual([400, 'invalid_request']);
});

fieldRule('address-list.field.limit', '1 to 200', {
  path: LIST,
  taken: [
    [{ limit: 1 }, { addresses: [{ is_primary: true }], has_more: true }],
    [{ limit: 200 }, { has_more: false }],
  ],
  refused: [0, 201, -1, 1.5, '5'].map((limit) => [{ limit }, 'limit']),
});

fieldRule('address-list.field.offset', 'from 0', {
  path: LIST,
  taken: [
    [{ offset: 0 }, ({ sandbox }) => ({ addresses: sandbox.addresses.own() })],
    [{}, ({ sandbox }) => ({ addresses: sandbox.addresses.own() })],
    [{ offset: 2 }, ({ sandbox }) => ({ addresses: sandbox.addresses.own().slice(2), has_more: false })],
    [{ offset: 9 }, { addresses: [], has_more: false }],
  ],
  refused: [-1, 0.5, '1'].map((offset) => [{ offset }, 'offset']),
});

rule(['limits.address-page', 'address-list.field.limit'], '100 by default, 200 at most', async (context) => {
  for (let added = 3; added < 205; added += 1) {
    context.sandbox.addresses.addOwn({ name: `address ${added}` }, { isPrimary: false });
  }
  const page = async (body: Json) => {
    const answer = await context.raw.post(LIST, body);
    return [(answer.body['addresses'] as Row[]).length, answer.body['has_more']];
  };
  expect(await page({})).toEqual([100, true]);
  expect(await page({ limit: 200 })).toEqual([200, true]);
  expect(await page({ limit: 200, offset: 200 })).toEqual([5, false]);
  expect(await page({ limit: 1, offset: 204 })).toEqual([1, false]);
  expect(await page({ limit: 1, offset: 203 })).toEqual([1, true]);
  expect(await page({ offset: 205 })).toEqual([0, false]);
  expect(errorOf(await context.raw.post(LIST, { limit: 201 }))).toEqual([400, 'invalid_request']);
  expect(errorOf(await context.raw.post(LIST, { offset: -1 }))).toEqual([400, 'invalid_request']);
});

rule('address-list.order', 'primary first, then oldest first', async (context) => {
  const [primary, oldest, newest] = (await rows(context)).map(({ id }) => id);
  const later = (await add(context, 'later'))['address'] as Row;
  const laterPrimary = (await add(context, 'later, primary', 'primary'))['address'] as Row;
  const ids = async () => (await rows(context)).map(({ id }) => id);
  expect(await ids()).toEqual([primary, laterPrimary.id, oldest, newest, later.id]);
  for (const id of [primary, laterPrimary.id]) {
    await context.steer('/operations', { operation: 'set_primary', address_id: id, is_primary: false });
  }
  expect(await ids()).toEqual([oldest, primary, newest, later.id, laterPrimary.id]);
});

rule('address-list.default-sender', 'the first of the first page', async (context) => {
  const first = present((await rows(context, { limit: 1 }))[0]);
  const { is_primary: _, ...address } = first;
  expect((await context.order())['sender_address']).toEqual(address);
});

rule('address-list.own', 'a customer’s address is not listed', async (context) => {
  const before = await rows(context);
  const { recipient_address: stored } = await context.order();
  const after = await rows(context);
  expect(after).toEqual(before);
  expect(after.map(({ id }) => id)).not.toContain((stored as Row).id);
});

rule('address-list.stable-ids', 'whatever is edited', async (context) => {
  const ids = async () => (await rows(context)).map(({ id, name }) => `${name} ${id}`).sort();
  const before = await ids();
  const primary = present((await rows(context))[0]);
  await context.steer('/operations', {
    operation: 'set_primary',
    address_id: primary.id,
    is_primary: false,
  });
  await context.order();
  expect(await ids()).toEqual(before);
});
