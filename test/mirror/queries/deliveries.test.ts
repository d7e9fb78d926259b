import { expect, test } from 'vitest';
import { deliveryAt, deliveryPage } from '../../../src/mirror/queries/deliveries.ts';
import { lag } from '../../../src/mirror/queries/status.ts';
import { appended } from '../direct-writer.ts';
import { delivery, detail, DirectWriter, item, T0 } from '../mirror-file.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

const page = (made: DirectWriter, over: Partial<Parameters<typeof deliveryPage>[1]> = {}) =>
  deliveryPage(made.db, { beforeSeq: null, limit: 30, deadLettersOnly: false, ...over });

const seqsOf = (made: DirectWriter, over = {}): number[] => page(made, over).deliveries.map(({ seq }) => seq);

test('shows the outcome of each item once applied', () => {
  const made = new DirectWriter();
  made.read('10', detail('10', [{ id: '100', levels: { 1: 5 } }]), T0 - 60_000);
  const body = delivery('a', item(), item({ old: 'x' }), item({ id: '101' }), item());
  made.writer.inbox.append(appended([{ body, arrivedAtMs: T0 + 120 }]));
  const outcomes = () => deliveryAt(made.db, { seq: 1 })?.items?.map(({ outcome }) => outcome);
  expect(outcomes()).toEqual([null, null, null]);
  made.commit();
  expect(outcomes()).toEqual(['4c follows', '1 new level', '3 duplicate']);
  expect(deliveryAt(made.db, { seq: 1 })).toMatchObject({
    arrivedAtMs: T0 + 120,
    sentAtMs: T0,
    requestId: 'a',
    itemCount: 3,
    unreadableCount: 1,
    unreadable: [{ itemIndex: 1, variantId: '100' }],
    bytes: body.byteLength,
    body: Buffer.from(body).toString(),
    isBodyWhole: true,
    isUtf8: true,
  });
  expect(deliveryAt(made.db, { seq: 2 })).toBeNull();
});

test('shows a body that is not JSON or not UTF-8', () => {
  const made = new DirectWriter();
  made.deliver(bytes('"request_time": 1790000000000 }{'));
  made.deliver(Uint8Array.of(0xff, 0x7b));
  expect(deliveryAt(made.db, { seq: 1 })).toMatchObject({ sentAtMs: T0, isUtf8: true, unreadableCount: 1 });
  expect(deliveryAt(made.db, { seq: 2 })).toMatchObject({ sentAtMs: null, isUtf8: false, body: '\ufffd{' });
});

test('pages from the newest to the oldest, also with dead letters only', () => {
  const made = new DirectWriter();
  for (let n = 1; n <= 6; n += 1) {
    made.deliver(n % 2 === 0 ? bytes(`no JSON ${n}`) : delivery(`r${n}`, item({ id: String(n) })), T0 + n);
  }
  expect(page(made, { limit: 4 })).toMatchObject({ next: 3, isPruned: false });
  expect(seqsOf(made, { limit: 4 })).toEqual([6, 5, 4, 3]);
  expect(page(made, { limit: 4, beforeSeq: 3 })).toMatchObject({ next: null });
  expect(seqsOf(made, { beforeSeq: 3 })).toEqual([2, 1]);
  expect(seqsOf(made, { deadLettersOnly: true, limit: 2 })).toEqual([6, 4]);
  expect(seqsOf(made, { deadLettersOnly: true, beforeSeq: 4 })).toEqual([2]);
  made.prune(T0 + 3);
  expect(page(made, { beforeSeq: 5 })).toMatchObject({ next: null, isPruned: true });
  expect(seqsOf(made)).toEqual([6, 5, 4, 3]);
});

test('limits the bytes that a page parses', () => {
  const made = new DirectWriter();
  const many = Array.from({ length: 170 }, (_, n) => item({ warehouse_id: String(n) }));
  for (const id of ['a', 'b', 'c', 'd']) made.deliver(delivery(id, ...many));
  expect(seqsOf(made)).toEqual([4, 3]);
  const [first] = page(made).deliveries;
  expect([first?.itemCount, first?.items?.length]).toEqual([170, 8]);
  expect(deliveryAt(made.db, { seq: 1 })?.items).toHaveLength(170);
  made.deliver(delivery('large', item({ sku: 'x'.repeat(300 << 10) })));
  expect(page(made).deliveries[0]).toMatchObject({ seq: 5, items: null });
  expect(deliveryAt(made.db, { seq: 5 })).toMatchObject({ items: null, isBodyWhole: false });
});

test('counts deliveries not yet applied as lag', () => {
  const made = new DirectWriter();
  expect(lag(made.db)).toEqual({ deliveries: 0, sinceMs: null });
  made.deliver(delivery('a', item()), T0);
  const waiting = ['b', 'c'].map((id, n) => ({ body: delivery(id, item()), arrivedAtMs: T0 + 5 + n }));
  made.writer.inbox.append(appended(waiting));
  expect(lag(made.db)).toEqual({ deliveries: 2, sinceMs: T0 + 5 });
});

test('finds the lag without a look at each waiting row', () => {
  const made = new DirectWriter();
  const waiting = Array.from({ length: 100 }, (_, n) => ({
    body: delivery(String(n), item()),
    arrivedAtMs: T0 + n,
  }));
  made.writer.inbox.append(appended(waiting));
  let looks = 0;
  made.db.function('looked_at', (seq: number) => (looks += seq > 0 ? 1 : 0));
  made.db.exec('CREATE TEMP VIEW inbox AS SELECT * FROM inbox_file.inbox WHERE looked_at(seq)');
  expect(lag(made.db)).toEqual({ deliveries: 100, sinceMs: T0 });
  expect(looks).toBeGreaterThan(0);
  expect(looks).toBeLessThan(5);
});
