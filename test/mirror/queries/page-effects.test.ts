/** What the ops page says became of each item, held against what the rules did with it. */
import { expect, test } from 'vitest';
import type { ChangeBranch } from '../../../src/core/merge/change-outcome.ts';
import type { Db } from '../../../src/sqlite/open.ts';
import { deliveryAt, deliveryPage } from '../../../src/mirror/queries/page/deliveries.ts';
import type { Effect } from '../../../src/mirror/queries/page/effects.ts';
import { delivery, detail, DirectWriter, item, T0, type Item } from '../mirror-file.ts';

function effectsAt(db: Db, seq: number): Effect[] {
  const found = deliveryAt(db, { seq });
  if (found?.items === null || found === null) throw new Error(`no delivery at ${seq}`);
  return found.items.map(({ effect }) => effect);
}

/** Variant 100 with 5 in warehouse 1, as read at T0. */
function readOnce(): DirectWriter {
  const writer = new DirectWriter();
  writer.read('1', detail('1', [{ id: '100', levels: { 1: 5 } }]), T0);
  return writer;
}

/** @returns its place in the log. */
function deliver(writer: DirectWriter, atMs: number, ...items: readonly Item[]): number {
  const told = items.map((over) => item({ update_time: atMs, ...over }));
  return writer.deliver(delivery(`at ${atMs}`, ...told), atMs).seq;
}

const at = (seconds: number): number => T0 + seconds * 1_000;

test('applied, and where the chain broke: suspect until a read has settled it', () => {
  const writer = readOnce();
  const follows = deliver(writer, at(10), { old: 5, new: 4 });
  const gap = deliver(writer, at(20), { old: 9, new: 8 });
  expect(effectsAt(writer.db, follows)).toEqual([
    { outcome: { kind: 'applied', fromQty: 5 }, suspicion: 'no' },
  ]);
  expect(effectsAt(writer.db, gap)).toEqual([
    { outcome: { kind: 'applied', fromQty: 4 }, suspicion: 'open' },
  ]);
  writer.read('1', detail('1', [{ id: '100', levels: { 1: 8 } }]), at(60));
  expect(effectsAt(writer.db, gap)).toEqual([
    { outcome: { kind: 'applied', fromQty: 4 }, suspicion: 'settled' },
  ]);
});

test('older than a change, than a read, of one instant with another; the same again', () => {
  const writer = readOnce();
  deliver(writer, at(20), { old: 5, new: 4 });
  const late = deliver(writer, at(21), { old: 6, new: 5, update_time: at(10) });
  const again = deliver(writer, at(22), { old: 5, new: 4, update_time: at(20) });
  const same = deliver(writer, at(23), { old: 7, new: 9, update_time: at(20) });
  const [outcome] = effectsAt(writer.db, late);
  expect(outcome).toMatchObject({
    outcome: { kind: 'kept', qty: 4, later: { kind: 'change', atMs: at(20) } },
  });
  expect(effectsAt(writer.db, again)).toEqual([{ outcome: { kind: 'held' }, suspicion: 'no' }]);
  expect(effectsAt(writer.db, same)).toEqual([
    { outcome: { kind: 'kept', qty: 4, later: { kind: 'same_instant', atMs: at(20) } }, suspicion: 'open' },
  ]);
  writer.read('1', detail('1', [{ id: '100', levels: { 1: 3 } }]), at(60));
  const seen = deliver(writer, at(80), { old: 4, new: 2, update_time: at(40) });
  expect(effectsAt(writer.db, seen)).toMatchObject([
    { outcome: { kind: 'kept', qty: 3, later: { kind: 'read' } } },
  ]);
});

test('a variant that was removed keeps nothing of a late change', () => {
  const writer = readOnce();
  for (const seconds of [60, 120, 180]) writer.read('1', null, at(seconds));
  const late = deliver(writer, at(181), { old: 5, new: 4, update_time: at(30) });
  expect(effectsAt(writer.db, late)).toMatchObject([{ outcome: { kind: 'gone' } }]);
});

test('what is pruned is said to be so, and what is left is still told', () => {
  const writer = readOnce();
  for (let i = 0; i < 10; i += 1) deliver(writer, at(10 + i), { old: 5 + i, new: 6 + i });
  const last = deliver(writer, at(90_000), { old: 15, new: 16 });
  // The last but one is left without its row of the feed, as it may be at the edge of what is pruned.
  writer.db.prepare('DELETE FROM log WHERE seq < ?').run(last - 1);
  writer.db.prepare('DELETE FROM changes WHERE log_seq < ?').run(last);
  writer.db.prepare('UPDATE service_state SET pruned_change_seq = (SELECT min(seq) - 1 FROM changes)').run();
  expect(effectsAt(writer.db, last)).toEqual([
    { outcome: { kind: 'applied', fromQty: 15 }, suspicion: 'no' },
  ]);
  expect(effectsAt(writer.db, last - 1)).toEqual([
    { outcome: { kind: 'unknown', why: 'pruned' }, suspicion: 'no' },
  ]);
  expect(deliveryPage(writer.db, { beforeSeq: null, limit: 5 })).toMatchObject({
    isPruned: true,
    next: null,
  });
});

test('a page parses no more than it may, and goes on with the next', () => {
  const writer = readOnce();
  const many = Array.from({ length: 170 }, (_, i) => ({ warehouse_id: String(i), old: 1, new: 2 }));
  const seqs = [10, 20, 30, 40].map((seconds) => deliver(writer, at(seconds), ...many));
  const first = deliveryPage(writer.db, { beforeSeq: null, limit: 30 });
  expect(first.deliveries.map(({ seq }) => seq)).toEqual([seqs[3], seqs[2]]);
  expect(first.deliveries[0]).toMatchObject({ itemCount: 170 });
  expect(first.deliveries[0]?.items).toHaveLength(8);
  const second = deliveryPage(writer.db, { beforeSeq: first.next, limit: 30 });
  expect(second.deliveries.map(({ seq }) => seq)).toEqual([seqs[1], seqs[0]]);
  expect(effectsAt(writer.db, seqs[0] ?? 0)).toHaveLength(170);
});

/** What may be told of each branch of the rules. `held`: an applied change that changed nothing leaves no row. */
const TOLD: Readonly<Record<ChangeBranch, readonly Effect['outcome']['kind'][]>> = {
  '1 new cell': ['applied'],
  '2 stale': ['kept', 'held'],
  '2 stale, yet follows': ['kept'],
  '3 duplicate': ['held'],
  '3 seen by the read': ['kept', 'held'],
  '3 follows': ['applied', 'held'],
  '3 precedes': ['kept', 'held'],
  '3 order unknown': ['kept', 'held'],
  '4a seen by the read': ['kept', 'held'],
  '4b confirmed': ['held'],
  '4b in doubt': ['applied'],
  '4c follows': ['applied', 'held'],
  '4c gap': ['applied', 'held'],
  'gone, seen by the read': ['gone'],
  'gone, in doubt': ['gone'],
  'gone, shown again': ['applied'],
  poison: ['applied', 'held'],
};

/** In [0, 1), the same for each seed. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Which branches a delivery took, from the writer's own counts. */
function taken(writer: DirectWriter, deliverIt: () => void): ChangeBranch[] {
  const before = writer.writer.branchCounts();
  deliverIt();
  const after = writer.writer.branchCounts();
  return (Object.keys(TOLD) as ChangeBranch[]).flatMap((branch) => {
    const key = `change: ${branch}`;
    return Array.from({ length: (after[key] ?? 0) - (before[key] ?? 0) }, () => branch);
  });
}

const isToldAs = (told: readonly string[], branches: readonly ChangeBranch[]): boolean =>
  branches.every((branch, index) => (TOLD[branch] as readonly string[]).includes(told[index] ?? ''));

test('after hundreds of deliveries, lost, late and doubled, each item is told as the rules took it', () => {
  const random = randomFrom(9);
  const pick = (below: number): number => Math.floor(random() * below);
  const writer = new DirectWriter();
  const branches = new Map<number, ChangeBranch[]>();
  let nowMs = T0;
  for (let n = 0; n < 900; n += 1) {
    nowMs += 1 + pick(3_000);
    const product = pick(3);
    const ids = [`${product}00`, `${product}01`];
    if (random() < 0.1) {
      const levels = () => ({ 1: pick(4), 2: pick(4) });
      const found = detail(
        String(product),
        ids.map((id) => ({ id, levels: levels() })),
      );
      // Now and then the service has it no more, long enough for the mirror to believe it.
      if (random() < 0.1)
        for (let i = 0; i < 3; i += 1) writer.read(String(product), null, (nowMs += 40_000));
      else writer.read(String(product), found, nowMs);
      continue;
    }
    const items = Array.from({ length: 1 + pick(2) }, () =>
      item({
        id: ids[pick(2)],
        warehouse_id: String(1 + pick(2)),
        old: pick(4),
        new: pick(4),
        // Times are coarse, so that many changes share one; some come late by more than a read.
        update_time:
          Math.floor((nowMs - pick(random() < 0.2 ? 90_000 : 6_000)) / 5_000) * 5_000 +
          (random() < 0.01 ? 3_600_000 : 0),
      }),
    );
    const body = delivery(`n${n}`, ...items);
    const taking = taken(writer, () => writer.deliver(body, nowMs));
    branches.set(writer.writer.lastSeq, taking);
  }
  for (const [seq, taking] of branches) {
    const told = effectsAt(writer.db, seq).map(({ outcome }) => outcome.kind);
    expect(told).toHaveLength(taking.length);
    expect([seq, told, taking, isToldAs(told, taking) || isToldAs(told, taking.toReversed())]).toEqual([
      seq,
      told,
      taking,
      true,
    ]);
  }
  expect([...new Set([...branches.values()].flat())].toSorted()).toEqual(Object.keys(TOLD).toSorted());
});
