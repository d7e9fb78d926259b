/** What no detail shows, or shows twice, must not be read about for ever (docs/architecture.md#levels-that-webhooks-alone-tell). */
import { describe, expect, test } from 'vitest';
import { CONTESTED_READS, CONTRADICTION_RETRY_MS, WEBHOOKS_ALONE_MS } from '../../../src/core/limits.ts';
import type { ProductSnapshot } from '../../../src/core/entry.ts';
import { isToldByWebhooksAlone } from '../../../src/core/apply/webhooks-alone.ts';
import { present } from '../../shared/present.ts';
import {
  T0,
  Mirror,
  change,
  level,
  mirrorAfterRead,
  productSnapshot,
  single,
  variantSnapshot,
} from '../builders.ts';

const S = 1_000;
const MINUTE = 60 * S;
const PRODUCT = '10';
const HIDDEN = '9';

/** Reads what is due when it is due. @returns how many reads that took until `untilMs`. */
function readWhatIsDue(mirror: Mirror, detail: ProductSnapshot, untilMs: number): number {
  for (let reads = 0; ; reads += 1) {
    const dueAtMs = mirror.tables.readRequest(PRODUCT)?.notBeforeMs ?? Infinity;
    if (dueAtMs > untilMs) return reads;
    mirror.read(detail, { sentAtMs: dueAtMs });
  }
}

/** One more unit in the hidden warehouse with each webhook. @returns reads. */
function named(
  mirror: Mirror,
  {
    times,
    everyMs,
    fromMs = T0 + MINUTE,
    firstQty = 0,
  }: {
    readonly times: number;
    readonly everyMs: number;
    readonly fromMs?: number;
    readonly firstQty?: number;
  },
): number {
  let reads = 0;
  for (let i = 0; i < times; i += 1) {
    const atMs = fromMs + i * everyMs;
    mirror.deliver(
      atMs,
      change({
        warehouseId: HIDDEN,
        old: firstQty + i,
        new: firstQty + i + 1,
        updateTimeMs: atMs,
      }),
    );
    reads += readWhatIsDue(mirror, single(5), atMs + everyMs - 1);
  }
  return reads;
}

const suspicion = (mirror: Mirror): number | null | undefined =>
  mirror.tables.stockLevel('100', HIDDEN)?.unexplainedAtMs;

describe('a warehouse that only webhooks name', () => {
  test.each([1 * S, 3 * S, 10 * S, 5 * MINUTE])(
    'is not read about for ever, nor lost: one webhook each %i ms',
    (everyMs) => {
      const mirror = mirrorAfterRead();
      const reads = named(mirror, { times: 200, everyMs });
      expect(reads).toBeLessThanOrEqual(CONTESTED_READS + 5);
      expect(mirror.qty('100', HIDDEN)).toBe(200);
      // Nothing but the webhooks speaks for it.
      expect(suspicion(mirror)).not.toBeNull();
      expect([mirror.qty(), mirror.total(), mirror.reason(), mirror.gaps()]).toEqual([5, 5, null, []]);
      expect(mirror.facts).toContainEqual({
        kind: 'webhooks_alone',
        variantId: '100',
        warehouseId: HIDDEN,
      });
    },
  );

  test('asks for nothing when a webhook of it is lost, repeated, or late', () => {
    const mirror = mirrorAfterRead();
    named(mirror, { times: 5, everyMs: 5 * MINUTE });
    const laterMs = T0 + 60 * MINUTE;
    const told = (old: number, next: number, updateTimeMs: number): void => {
      mirror.deliver(laterMs, change({ warehouseId: HIDDEN, old, new: next, updateTimeMs }));
    };
    told(17, 18, laterMs);
    told(18, 17, laterMs - 1);
    told(18, 19, laterMs);
    told(20, 20, laterMs);
    expect([mirror.qty('100', HIDDEN), mirror.reason(), mirror.gaps()]).toEqual([19, null, []]);
    expect(mirror.total()).toBe(5);
  });

  test('is an ordinary level as soon as a read shows it', () => {
    const mirror = mirrorAfterRead();
    named(mirror, { times: 5, everyMs: 5 * MINUTE });
    const both = productSnapshot([variantSnapshot({ 1: 5, [HIDDEN]: 5 })]);
    mirror.read(both, { sentAtMs: T0 + 60 * MINUTE });
    expect([mirror.qty('100', HIDDEN), suspicion(mirror), mirror.total()]).toEqual([5, null, 10]);
    mirror.deliver(
      T0 + 61 * MINUTE,
      change({ warehouseId: HIDDEN, old: 5, new: 6, updateTimeMs: T0 + 61 * MINUTE }),
    );
    expect([mirror.qty('100', HIDDEN), suspicion(mirror), mirror.total()]).toEqual([6, null, 11]);
  });

  test('goes a day after its last webhook, by two reads, or when the operator allows removals', () => {
    const DAY = T0 + 60 * MINUTE + WEBHOOKS_ALONE_MS;
    const mirror = mirrorAfterRead();
    named(mirror, { times: 5, everyMs: 5 * MINUTE });
    mirror.read(single(5), { sentAtMs: T0 + 50 * MINUTE });
    expect([mirror.qty('100', HIDDEN), mirror.reason()]).toEqual([5, null]);
    mirror.read(single(5), { sentAtMs: DAY });
    expect(readWhatIsDue(mirror, single(5), DAY + 5 * MINUTE)).toBe(1);
    expect([mirror.qty('100', HIDDEN), mirror.reason()]).toEqual([null, null]);

    const allowed = mirrorAfterRead();
    named(allowed, { times: 5, everyMs: 5 * MINUTE });
    const atMs = T0 + 50 * MINUTE;
    allowed.applyEntry({ kind: 'allow_removals', atMs, untilMs: atMs + 60 * MINUTE });
    allowed.read(single(5), { sentAtMs: atMs + S });
    readWhatIsDue(allowed, single(5), atMs + 5 * MINUTE);
    expect([allowed.qty('100', HIDDEN), allowed.reason()]).toEqual([null, null]);
  });

  test('is not what a late webhook makes of a warehouse that was closed', () => {
    const mirror = mirrorAfterRead(productSnapshot([variantSnapshot({ 1: 5, [HIDDEN]: 3 })]));
    mirror.read(single(5), { sentAtMs: T0 + MINUTE });
    mirror.read(single(5), { sentAtMs: T0 + 2 * MINUTE });
    for (const [i, updateTimeMs] of [T0 + MINUTE, T0 + 2 * MINUTE, T0 + 30 * S].entries()) {
      const atMs = T0 + (3 + i) * MINUTE;
      mirror.deliver(atMs, change({ warehouseId: HIDDEN, old: 3, new: 4, updateTimeMs }));
      readWhatIsDue(mirror, single(5), atMs + 50 * S);
    }
    expect(mirror.qty('100', HIDDEN)).toBeNull();
    expect(mirror.tables.stockLevel('100', HIDDEN)?.unseenReads).toBe(0);
  });

  test('that was opened again and never rests is brought back by the change after a read that shows it', () => {
    const mirror = mirrorAfterRead(productSnapshot([variantSnapshot({ 1: 5, [HIDDEN]: 3 })]));
    mirror.read(single(5), { sentAtMs: T0 + MINUTE });
    mirror.read(single(5), { sentAtMs: T0 + 2 * MINUTE });
    expect(mirror.qty('100', HIDDEN)).toBeNull();
    let reads = 0;
    // Ends at the figure that it had when it was removed.
    for (let qty = 1; qty <= 3; qty += 1) {
      const atMs = T0 + 3 * MINUTE + qty * S;
      mirror.deliver(atMs, change({ warehouseId: HIDDEN, old: qty - 1, new: qty, updateTimeMs: atMs }));
      if (qty === 1) {
        expect(mirror.qty('100', HIDDEN)).toBeNull();
        mirror.read(productSnapshot([variantSnapshot({ 1: 5, [HIDDEN]: qty })]), { sentAtMs: atMs + 1 });
        reads += 1;
      } else {
        expect([mirror.qty('100', HIDDEN), mirror.gaps()]).toEqual([qty, []]);
      }
    }
    expect(reads).toBe(1);
    expect(mirror.rows('100', HIDDEN).at(-2)).toMatchObject({ oldQty: null, newQty: 2 });
    const level = present(mirror.tables.stockLevel('100', HIDDEN));
    expect([level.goneAtMs, level.verifiedAtMs, isToldByWebhooksAlone(level)]).toEqual([null, null, false]);
    // What the total held of it no read could say: one that comes late enough does.
    mirror.read(productSnapshot([variantSnapshot({ 1: 5, [HIDDEN]: 3 })]), { sentAtMs: T0 + 4 * MINUTE });
    expect([mirror.qty('100', HIDDEN), mirror.total(), mirror.reason()]).toEqual([3, 8, null]);
  });

  test('that was opened again is shown by the next read, and is no such level', () => {
    const mirror = mirrorAfterRead(productSnapshot([variantSnapshot({ 1: 5, [HIDDEN]: 3 })]));
    mirror.read(single(5), { sentAtMs: T0 + MINUTE });
    mirror.read(single(5), { sentAtMs: T0 + 2 * MINUTE });
    mirror.deliver(
      T0 + 3 * MINUTE,
      change({ warehouseId: HIDDEN, old: 0, new: 4, updateTimeMs: T0 + 3 * MINUTE }),
    );
    const both = productSnapshot([variantSnapshot({ 1: 5, [HIDDEN]: 4 })]);
    expect(readWhatIsDue(mirror, both, T0 + 4 * MINUTE)).toBe(1);
    const level = present(mirror.tables.stockLevel('100', HIDDEN));
    expect([level.qty, level.goneAtMs, level.unexplainedAtMs, isToldByWebhooksAlone(level)]).toEqual([
      4,
      null,
      null,
      false,
    ]);
  });
});

describe('a detail that tells a warehouse twice, with different figures', () => {
  const twice = (first: number, second: number): ProductSnapshot =>
    productSnapshot([
      {
        ...variantSnapshot(null, { availableQty: 5, kind: 'own' }),
        levels: [{ ...level(first), isContradictory: true }],
        ...(second === first ? {} : {}),
      },
    ]);

  test('settles nothing: the level stays, suspect, is read once more, and then by the schedule', () => {
    const mirror = mirrorAfterRead();
    const facts = mirror.read(twice(7, 8), { sentAtMs: T0 + MINUTE });
    expect(facts).toContainEqual({
      kind: 'contradiction',
      productId: PRODUCT,
      variantId: '100',
      warehouseId: '1',
    });
    expect([mirror.qty(), mirror.tables.stockLevel('100', '1')?.unexplainedAtMs]).toEqual([5, T0 + MINUTE]);
    expect(mirror.tables.readRequest(PRODUCT)?.notBeforeMs).toBe(T0 + MINUTE + CONTRADICTION_RETRY_MS);
    expect(readWhatIsDue(mirror, twice(8, 7), T0 + 60 * MINUTE)).toBe(1);
    expect([mirror.qty(), mirror.reason(), mirror.rows()]).toEqual([
      5,
      null,
      [expect.objectContaining({ reason: 'first_read' })],
    ]);
    // Whoever reads it for another reason makes no difference.
    mirror.read(twice(7, 8), { sentAtMs: T0 + 60 * MINUTE });
    expect(mirror.reason()).toBeNull();
    mirror.read(single(6), { sentAtMs: T0 + 70 * MINUTE });
    expect([mirror.qty(), mirror.tables.stockLevel('100', '1')?.unexplainedAtMs]).toEqual([6, null]);
  });

  test('shows a level that was not known, as it stands first, suspect', () => {
    const mirror = new Mirror();
    mirror.read(twice(7, 8), { sentAtMs: T0 });
    expect([mirror.qty(), mirror.tables.stockLevel('100', '1')?.unexplainedAtMs]).toEqual([7, T0]);
  });

  test('takes changes as ever', () => {
    const mirror = mirrorAfterRead();
    mirror.read(twice(7, 8), { sentAtMs: T0 + MINUTE });
    mirror.deliver(T0 + 2 * MINUTE, change({ old: 5, new: 4, updateTimeMs: T0 + 2 * MINUTE }));
    expect([mirror.qty(), mirror.tables.stockLevel('100', '1')?.unexplainedAtMs]).toEqual([4, null]);
  });

  test.each([
    ['in the window of that read, may be in the total already: it is read again', T0 + 59 * S, 'conflict'],
    ['after it, is not', T0 + 69 * S, null],
  ])('a change that happened %s', (_, updateTimeMs, reason) => {
    const mirror = mirrorAfterRead();
    // 5→4 at the store. The first warehouse stands there twice, and the total holds the change.
    const detail = productSnapshot([{ ...present(twice(4, 5).variants[0]), availableQty: 4 }]);
    mirror.read(detail, { sentAtMs: T0 + MINUTE });
    readWhatIsDue(mirror, detail, T0 + 10 * MINUTE);
    mirror.read(detail, { sentAtMs: T0 + 11 * MINUTE });
    const late = updateTimeMs + 10 * MINUTE;
    mirror.deliver(T0 + 12 * MINUTE, change({ old: 5, new: 4, updateTimeMs: late }));
    expect([mirror.qty(), mirror.total(), mirror.reason()]).toEqual([4, 3, reason]);
  });

  test('a total that agrees but lacks a change settles nothing', () => {
    const mirror = mirrorAfterRead();
    mirror.deliver(T0 + MINUTE, change({ old: 5, new: 6, updateTimeMs: T0 + MINUTE }));
    const detail = productSnapshot([{ ...present(twice(5, 6).variants[0]), availableQty: 6 }]);
    mirror.read(detail, { sentAtMs: T0 + MINUTE + S });
    expect([mirror.qty(), mirror.reason()]).toEqual([6, 'conflict']);
  });
});

test('a detail that tells a variant twice, with different totals, leaves the total, and the levels suspect', () => {
  const mirror = mirrorAfterRead();
  const seen = { ...variantSnapshot({ 1: 5 }), availableQty: 9, isContradictory: true } as const;
  mirror.read(productSnapshot([seen]), { sentAtMs: T0 + MINUTE });
  expect([mirror.total(), mirror.qty(), mirror.tables.stockLevel('100', '1')?.unexplainedAtMs]).toEqual([
    5,
    5,
    T0 + MINUTE,
  ]);
  expect(readWhatIsDue(mirror, productSnapshot([seen]), T0 + 60 * MINUTE)).toBeLessThan(3);
});

test('no change settles a total that details tell twice, nor is it read about for ever: a detail that tells it once does', () => {
  const mirror = mirrorAfterRead();
  // 5→4 was lost. The level shows it, and which of the totals does, no detail says.
  const seen = { ...variantSnapshot({ 1: 4 }), availableQty: 5, isContradictory: true } as const;
  mirror.read(productSnapshot([seen]), { sentAtMs: T0 + MINUTE });
  readWhatIsDue(mirror, productSnapshot([seen]), T0 + 60 * MINUTE);
  for (const [i, atMs] of [T0 + 60 * MINUTE, T0 + 70 * MINUTE].entries()) {
    mirror.deliver(atMs, change({ old: 4 - i, new: 3 - i, updateTimeMs: atMs }));
    expect([mirror.qty(), mirror.total(), mirror.reason()]).toEqual([3 - i, 3 - i, null]);
    expect(mirror.tables.stockLevel('100', '1')?.unexplainedAtMs).toBe(atMs);
  }
  // A change that starts elsewhere moves the total as it moves the level.
  mirror.deliver(T0 + 75 * MINUTE, change({ old: 3, new: 1, updateTimeMs: T0 + 75 * MINUTE }));
  expect([mirror.qty(), mirror.total(), mirror.reason()]).toEqual([1, 1, 'conflict']);
  mirror.read(single(2), { sentAtMs: T0 + 80 * MINUTE });
  expect([mirror.total(), mirror.tables.stockLevel('100', '1')?.unexplainedAtMs]).toEqual([2, null]);
  mirror.deliver(T0 + 90 * MINUTE, change({ old: 2, new: 1, updateTimeMs: T0 + 90 * MINUTE }));
  expect([mirror.total(), mirror.tables.stockLevel('100', '1')?.unexplainedAtMs]).toEqual([1, null]);
});
