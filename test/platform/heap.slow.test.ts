import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const HEAP = JSON.stringify(join(import.meta.dirname, '../../src/platform/heap.ts'));

/** Allocates much garbage. @returns the size of the young generation in MB. */
const YOUNG_MB = `(() => {
  const kept = [];
  for (let i = 0; i < 3_000_000; i += 1) kept[i % 400_000] = { text: [i, i, i] };
  const spaces = process.getBuiltinModule('node:v8').getHeapSpaceStatistics();
  return spaces.find((space) => space.space_name === 'new_space').space_size / 2 ** 20;
})()`;

function printed(program: string): number {
  const ended = spawnSync(
    process.execPath,
    ['--max-semi-space-size=16', '--input-type=module', '-e', program],
    { encoding: 'utf8' },
  );
  expect(ended.stderr).toBe('');
  return Number(ended.stdout);
}

const ofThread = (before: string): number =>
  printed(`
    import { Worker } from 'node:worker_threads';
    import { keepHeapsSmall } from ${HEAP};
    ${before}
    const thread = 'require("node:worker_threads").parentPort.postMessage(' + ${JSON.stringify(YOUNG_MB)} + ')';
    const limits = { maxYoungGenerationSizeMb: 6 };
    new Worker(thread, { eval: true, execArgv: [], resourceLimits: limits }).on('message', (found) => console.log(found));
  `);

test('limits the young generation of the main thread', () => {
  const program = `import { keepHeapsSmall } from ${HEAP}; keepHeapsSmall(); console.log(${YOUNG_MB});`;
  expect(printed(program)).toBeLessThanOrEqual(33);
});

test('does not override the limits of other threads', () => {
  expect(ofThread('keepHeapsSmall();')).toBeLessThanOrEqual(8);
  expect(ofThread('')).toBeGreaterThan(12);
});

test('frees what the start has left', () => {
  const program = `
    import { collectOnceLoaded } from ${HEAP};
    let left = new WeakRef({});
    collectOnceLoaded();
    setTimeout(() => console.log(left.deref() === undefined ? 1 : 0), 6_000);
  `;
  expect(printed(program)).toBe(1);
});
