import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

/** Makes much that is gone a moment later, and tells how large the young generation of the thread has become, in MB. */
const THREAD = `
  const { getHeapSpaceStatistics } = require('node:v8');
  const kept = [];
  for (let i = 0; i < 3_000_000; i += 1) kept[i % 400_000] = { text: [i, i, i] };
  const young = getHeapSpaceStatistics().find((space) => space.space_name === 'new_space');
  require('node:worker_threads').parentPort.postMessage(young.space_size / 2 ** 20);
`;

function youngMegabytes(before: string): number {
  const program = `
    import { Worker } from 'node:worker_threads';
    import { keepHeapsSmall } from ${JSON.stringify(join(import.meta.dirname, '../src/heap.ts'))};
    ${before}
    new Worker(${JSON.stringify(THREAD)}, { eval: true, execArgv: [] }).on('message', (found) => console.log(found));
  `;
  const ended = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' });
  expect(ended.stderr).toBe('');
  return Number(ended.stdout);
}

test('threads that are started later keep their young generation small', () => {
  expect(youngMegabytes('keepHeapsSmall();')).toBeLessThanOrEqual(32);
  // What V8 does by itself; else the other figure would say nothing.
  expect(youngMegabytes('')).toBeGreaterThan(40);
});
