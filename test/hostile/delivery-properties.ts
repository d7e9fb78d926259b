/** Invariants of parsing a webhook body, for any body. */
import assert from 'node:assert/strict';
import { parseDelivery, type ParsedDelivery } from '../../src/store-api/delivery.ts';
import { STOCK_AVAILABLE_UPDATED } from '../../src/store-api/contract/schemas.ts';

const DIGITS = /^[0-9]+$/;
/** Further broken items are counted in one mark, except those that name a new variant. */
const LISTED_SINGLY = 100;

/** @returns what was read. */
export function checkDelivery(body: Uint8Array): ParsedDelivery {
  const copy = Buffer.from(body);
  const parsed = parseDelivery(body);
  assert.deepEqual(parseDelivery(body), parsed, 'the same body reads the same');
  assert.ok(copy.equals(body), 'the body is left as it was');
  assertUnpolluted();
  checkShape(parsed);
  checkAllAccountedFor(body, parsed);
  return parsed;
}

function checkShape({ requestId, changes, unreadable }: ParsedDelivery): void {
  checkText(requestId);
  for (const change of changes) {
    assert.equal(Object.getPrototypeOf(change), Object.prototype);
    assert.match(change.variantId, DIGITS);
    assert.match(change.warehouseId, DIGITS);
    for (const figure of [change.old, change.new, change.updateTimeMs]) {
      assert.ok(Number.isSafeInteger(figure) && !Object.is(figure, -0), `${figure}`);
    }
    assert.ok(change.updateTimeMs >= 1e12);
    for (const text of [change.sku, change.reason, change.orderId, change.userId]) checkText(text);
    assert.notEqual(change.sku, '');
  }
  for (const { variantId, problem, itemIndex } of unreadable) {
    assert.ok(variantId === null || DIGITS.test(variantId));
    checkText(problem);
    assert.ok(problem.length > 0 && problem.length < 400, 'a problem is short');
    assert.ok(itemIndex === null || Number.isSafeInteger(itemIndex));
  }
}

/** The database returns only well-formed text unchanged. */
function checkText(text: string | null): void {
  assert.ok(text === null || (typeof text === 'string' && text.isWellFormed()), `${text}`);
}

/** Each item becomes a change or a mark. */
function checkAllAccountedFor(body: Uint8Array, { changes, unreadable }: ParsedDelivery): void {
  const json = jsonOf(body) as undefined | { event_type?: unknown; data?: { items?: unknown } | null } | null;
  const type = Object.hasOwn(Object(json) as object, 'event_type') ? json?.event_type : undefined;
  const items = json?.data?.items;
  const isOther = typeof type === 'string' && type !== STOCK_AVAILABLE_UPDATED;
  if (isOther || !Array.isArray(items)) {
    assert.equal(changes.length, 0);
    assert.equal(unreadable.length, 1);
    return;
  }
  const marks = changes.length + unreadable.length - (typeof type === 'string' ? 0 : 1);
  if (items.length <= LISTED_SINGLY) assert.equal(marks, items.length);
  else assert.ok(marks >= LISTED_SINGLY && marks <= items.length);
}

function jsonOf(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(body));
  } catch {
    return undefined;
  }
}

const CLEAN = JSON.stringify([Object, Array, String, Number].map(({ prototype }) => namesOf(prototype)));

export function assertUnpolluted(): void {
  const now = JSON.stringify([Object, Array, String, Number].map(({ prototype }) => namesOf(prototype)));
  assert.equal(now, CLEAN, 'a prototype was changed');
}

function namesOf(prototype: object): string[] {
  return Reflect.ownKeys(prototype).map(String);
}
