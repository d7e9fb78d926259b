import { expect, test } from 'vitest';
import type { Run } from '../../src/core/runs.ts';
import { runProgress } from '../../src/ops/page/runs-view.ts';

const RUN: Run = {
  ...{ id: 3, kind: 'full', state: 'running', startedAtMs: 0, finishedAtMs: null, productIds: null },
  ...{ total: 20, done: 15, drift: 0, failed: 0, listDone: true, error: null },
} as unknown as Run;

test('a run tells its rate, but none while the mirror is blocked', async () => {
  expect(String(await runProgress(RUN, 5_000, { isHeld: false, isAlone: false }))).toContain(
    '3 products per second, about 1.7 s left',
  );
  const held = String(await runProgress(RUN, 5_000, { isHeld: true, isAlone: false }));
  expect(held).toContain('waits until the mirror is no longer blocked');
  expect(held).not.toContain('left');
});
