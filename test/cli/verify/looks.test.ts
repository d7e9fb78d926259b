/** What several looks at one product prove. */
import { expect, test } from 'vitest';
import { isEqual } from '../../../src/cli/verify.ts';
import type { Held, MirrorProduct } from '../../../src/cli/verify/figures.ts';
import { lookAtAll } from '../../../src/cli/verify/looks.ts';
import type { ProductSnapshot } from '../../../src/core/input.ts';

const held = (qty: number): Held => ({
  qty,
  changeSeq: qty,
  suspect: false,
  asOfMs: 0,
  verifiedAtMs: null,
  sku: null,
  isSettling: false,
});

/** Variants 7 and 8, of which the mirror holds 1, 2, 3, … from look to look; variant 8 always differs. */
async function verdictOf(offsetAt: (look: number) => number) {
  let looks = 0;
  const look = (): MirrorProduct => ({
    totals: new Map([
      ['7', held(looks)],
      ['8', held(looks)],
    ]),
    levels: new Map(),
  });
  const told = () => {
    looks += 1;
    const variants = [
      { variantId: '7', availableQty: looks + offsetAt(looks), levels: null },
      { variantId: '8', availableQty: looks + 5, levels: null },
    ];
    return Promise.resolve({ variants } as unknown as ProductSnapshot);
  };
  const verdict = await lookAtAll(
    {
      mirror: { look },
      service: { product: told },
      concurrency: 1,
      onProgress: () => undefined,
      signal: new AbortController().signal,
      againAfterMs: 0,
    },
    ['1'],
  );
  return { looks, verdict };
}

test('a value that moves at all six looks with a steady offset is undecided, and not equal', async () => {
  const { looks, verdict } = await verdictOf(() => 5);
  expect(looks).toBe(6);
  expect(verdict).toMatchObject({ drift: [], unread: [], undecided: [{ service: 11 }, { service: 11 }] });
  expect(isEqual(verdict)).toBe(false);
});

test('a value that was once equal while it moved is not undecided', async () => {
  const { verdict } = await verdictOf((look) => (look === 3 ? 0 : 5));
  expect(verdict).toMatchObject({ drift: [], undecided: [{ variantId: '8' }] });
});
