import { readFileSync } from 'node:fs';
import { beforeEach, expect, test } from 'vitest';
import { CORRECTED, PROVED, Story } from '../../../src/cli/demo/story.ts';
import type { DeliveryRecord } from '../../../src/sandbox/network/deliveries.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import { present } from '../../shared/present.ts';
import { startService } from '../harness.ts';

let sandbox: Sandbox;
let told: string[];
let story: Story;
let listener: (record: DeliveryRecord) => void;

beforeEach(async () => {
  sandbox = await startService({ products: 1 });
  told = [];
  const deliveries = {
    ...sandbox.deliveries,
    onSettled: (tell: typeof listener) => {
      listener = tell;
      return () => undefined;
    },
  };
  story = new Story(
    { truth: sandbox.truth, deliveries },
    (text) => told.push(text.replace(/^ *[\d.]+ s {2}/, '').trimEnd()),
    { tellsAll: true },
  );
});

/** A webhook of one change, made at this time, with this fate. */
function settle(fate: Partial<DeliveryRecord>, requestTimeMs = 1_000): void {
  const items = [{ id: present(sandbox.truth.variants[0]).id, warehouse_id: 'w1', old: 5, new: 8 }];
  const delivery = { requestTimeMs, items } as unknown as DeliveryRecord['delivery'];
  const answered = { createdAtMs: 0, sentAtMs: 0, ms: 1, outcome: 'answered', status: 204 } as const;
  const sent = { clientId: 'sandbox-client', url: null, problem: null };
  listener({ delivery, duplicate: false, ...sent, ...answered, ...fate });
}

test('each fate of a webhook is told by the product’s name, and counted', () => {
  story.begin();
  settle({});
  expect(told).toEqual([]);
  settle({ outcome: 'lost', status: null });
  settle({ outcome: 'failed', status: null });
  settle({ status: 503 });
  settle({ duplicate: true });
  settle({}, 800);
  const change = `${present(sandbox.truth.variants[0]).product.name}: 5 → 8`;
  expect(told).toEqual([
    `lost       ${change}, never arrives`,
    `missed     ${change}, the mirror does not answer`,
    `missed     ${change}, the mirror does not answer`,
    `doubled    ${change}, delivered twice`,
    `late       ${change}, arrives after a webhook that is 200 ms newer`,
  ]);
  expect(story.tally).toMatchObject({ changes: 5, sent: 5, lost: 1, missed: 2, duplicated: 1, late: 1 });
});

test('what the mirror logs is told in plain words, and counted', () => {
  const { id, product } = present(sandbox.truth.variants[0]);
  const gap = { variantId: id, fromQty: 9, toQty: 7 };
  story.log({ level: 'debug', msg: 'gap_opened', gap });
  story.log({ level: 'debug', msg: 'gap_closed', gap });
  story.log({ level: 'info', msg: PROVED, variantId: id });
  story.log({ level: 'info', msg: CORRECTED, variantId: id, oldQty: 9, newQty: 7, cause: 'lost_tail' });
  story.log({ level: 'debug', msg: CORRECTED, variantId: id, oldQty: 2, newQty: 1, cause: 'derived' });
  story.log({ level: 'debug', msg: 'met' });
  story.log({ level: 'error', msg: 'something is wrong' });
  expect(told).toEqual([
    `gap        ${product.name}: the mirror held 9, this change is from 7, so a webhook is missing`,
    `closed     ${product.name}: the missing webhook was only late`,
    `proved     ${product.name}: the missing webhook was lost, a read replaced it`,
    `corrected  ${product.name}: 9 → 7 by a read; its last webhook was lost`,
    'error  something is wrong',
  ]);
  expect(story.tally).toMatchObject({ gapsOpened: 1, gapsClosed: 1, lossesProved: 1, repaired: 1 });
});

test('where not all is told, three losses are, from beginning to end', () => {
  story.tellsAll = false;
  story.begin();
  const { id, product } = present(sandbox.truth.variants[0]);
  for (let nth = 0; nth < 5; nth += 1) {
    settle({ outcome: 'lost', status: null });
    settle({ outcome: 'lost', status: null });
    story.log({
      level: 'debug',
      msg: 'gap_opened',
      gap: { variantId: id, warehouseId: 'w1', fromQty: 5, toQty: 9 },
    });
    story.log({ level: 'info', msg: PROVED, variantId: id, warehouseId: 'w1' });
  }
  expect(told).toHaveLength(3);
  expect(told[0]?.replace(/\d+\.\d s later$/, '… s later')).toBe(
    `lost ${product.name}: the webhook 5 → 8. Found: the next one began at 9, the mirror held 5. Repaired by a read, … s later`,
  );
  expect(story.tally).toMatchObject({ lost: 10, lossesProved: 5 });
});

test('a loss that began before it was looked at, or a webhook that was only late, is no example', () => {
  story.tellsAll = false;
  story.begin();
  const { id } = present(sandbox.truth.variants[0]);
  const gap = { variantId: id, warehouseId: 'w1', fromQty: 5, toQty: 9 };
  story.log({ level: 'debug', msg: 'gap_opened', gap });
  story.log({ level: 'info', msg: PROVED, variantId: id, warehouseId: 'w1' });
  settle({ outcome: 'lost', status: null });
  story.log({ level: 'debug', msg: 'gap_opened', gap });
  story.log({ level: 'debug', msg: 'gap_closed', gap });
  story.log({ level: 'info', msg: PROVED, variantId: id, warehouseId: 'w1' });
  expect(told).toEqual([]);
});

test('more lines a second than a person can read are counted, not told', () => {
  const { id } = present(sandbox.truth.variants[0]);
  for (let count = 0; count < 40; count += 1) story.log({ level: 'info', msg: PROVED, variantId: id });
  expect(story.tally.lossesProved).toBe(40);
  // Sixteen, should the second end meanwhile.
  expect(told.length).toBeLessThanOrEqual(16);
});

test('the mirror still logs what the story listens for', () => {
  const source = readFileSync(new URL('../../../src/ops/state/fact-log.ts', import.meta.url), 'utf8');
  expect(source).toContain(`'${PROVED}'`);
  expect(source).toContain(`'${CORRECTED}'`);
});
