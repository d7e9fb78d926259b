/** Webhooks lost on purpose. */
import { expect, test } from 'vitest';
import type { Loss } from '../../src/sandbox/network/losses.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { createRaw } from '../contract/raw.ts';
import { present } from '../shared/present.ts';
import { manualTime, steer, variantOf, withReceiver } from './harness.ts';

const latest = (sandbox: Sandbox): Loss => present(sandbox.losses.recent[0]);

test('reports the webhook that reveals a loss and the read that repairs it', async () => {
  const time = manualTime();
  const { sandbox, receiver } = await withReceiver(time);
  const raw = createRaw(sandbox);
  const answer = await steer(sandbox, '/lose-webhook', {});
  const { variant } = latest(sandbox);
  const { id: variantId } = variant;
  const product_id = variant.product.id;
  expect(answer.body).toMatchObject({ variant_id: variantId, product_id, revealed_by: null, read_at: null });
  expect(latest(sandbox).lost).toMatchObject({ outcome: 'lost', sentAtMs: null });
  // A read before the revealing webhook proves nothing.
  await raw.post('/v1/product/detail', { product_id });
  expect(latest(sandbox).readAtMs).toBeNull();

  time.advance(1_000);
  await sandbox.network.idle();
  expect(receiver.items()).toHaveLength(1);
  const { revealedBy, change } = latest(sandbox);
  expect(present(revealedBy).change).toMatchObject({ id: variantId, old: change.new });

  time.advance(2_500);
  await raw.post('/v1/product/detail', { product_id: variantOf(sandbox, 'pulled').product.id });
  expect(latest(sandbox).readAtMs).toBeNull();
  await raw.post('/v1/product/detail', { product_id });
  const shownLosses = async (query = '') => {
    const answered = await fetch(`${sandbox.baseUrl}/sandbox/losses${query}`);
    return ((await answered.json()) as { losses: Record<string, number | string>[] }).losses;
  };
  const [shown = {}] = await shownLosses();
  expect(shown['revealed_by']).toBe(present(revealedBy).record.delivery.requestId);
  expect(Number(shown['read_at']) - Number(shown['revealed_at'])).toBe(2_500);
  sandbox.losses.lose();
  expect(await shownLosses('?limit=1')).toHaveLength(1);
});
