import { beforeEach, expect, test } from 'vitest';
import { Story } from '../../../src/cli/demo/story.ts';
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
  story = new Story({ truth: sandbox.truth, deliveries }, (text) =>
    told.push(text.replace(/^ *[\d.]+ s {2}/, '').trimEnd()),
  );
  story.begin();
});

/** A webhook of one change, made at this time, with this fate. */
function settle(fate: Partial<DeliveryRecord>, requestTimeMs = 1_000): void {
  const items = [{ id: present(sandbox.truth.variants[0]).id, warehouse_id: 'w1', old: 5, new: 8 }];
  const delivery = { requestTimeMs, items } as unknown as DeliveryRecord['delivery'];
  const answered = { createdAtMs: 0, sentAtMs: 0, ms: 1, outcome: 'answered', status: 204 } as const;
  const sent = { clientId: 'sandbox-client', url: null, problem: null };
  listener({ delivery, duplicate: false, ...sent, ...answered, ...fate });
}

const log = (fact: object, level = 'debug', msg = '') => story.log({ level, msg, ...fact });
const gapOf = (variantId: string) => ({ variantId, warehouseId: 'w1', fromQty: 5, toQty: 9 });

test('counts the fate of each webhook', () => {
  settle({});
  settle({ outcome: 'lost', status: null });
  settle({ outcome: 'failed', status: null });
  settle({ status: 503 });
  settle({ duplicate: true });
  settle({}, 800);
  expect(story.tally).toMatchObject({ changes: 5, sent: 5, lost: 1, missed: 2, duplicated: 1, late: 1 });
});

test('counts what the mirror logs, and shows its errors', () => {
  const gap = gapOf(present(sandbox.truth.variants[0]).id);
  log({ kind: 'gap_opened', gap });
  log({ kind: 'gap_closed', gap });
  log({ kind: 'gap_proved', gap });
  log({ kind: 'drift', cause: 'lost_tail' });
  log({ kind: 'drift', cause: 'derived' });
  log({}, 'error', 'something is wrong');
  expect(told).toEqual(['error  something is wrong']);
  expect(story.tally).toMatchObject({ gapsOpened: 1, gapsClosed: 1, lossesProved: 1, repaired: 1 });
});

test('tells three losses from beginning to end', () => {
  const { id, product } = present(sandbox.truth.variants[0]);
  const gap = gapOf(id);
  // A loss from before, and a webhook that was only late, are no examples.
  log({ kind: 'gap_opened', gap });
  log({ kind: 'gap_proved', gap });
  settle({ outcome: 'lost', status: null });
  log({ kind: 'gap_opened', gap });
  log({ kind: 'gap_closed', gap });
  log({ kind: 'gap_proved', gap });
  expect(told).toEqual([]);
  for (let nth = 0; nth < 5; nth += 1) {
    settle({ outcome: 'lost', status: null });
    settle({ outcome: 'lost', status: null });
    log({ kind: 'gap_opened', gap });
    log({ kind: 'gap_proved', gap });
  }
  expect(told).toHaveLength(3);
  expect(told[0]?.replace(/\d+\.\d s later$/, '… s later')).toBe(
    `lost ${product.name}: the webhook 5 → 8. Found: the next one began at 9, the mirror held 5. Repaired by a read, … s later`,
  );
});
