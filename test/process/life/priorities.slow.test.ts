import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { startMirror, startService } from '../harness.ts';

/** @returns the steps of `nice` of the process's threads by name. */
function priorities(pid: number): ReadonlyMap<string, number> {
  const of = (thread: string): [string, number] => {
    const read = (file: string): string => readFileSync(`/proc/${pid}/task/${thread}/${file}`, 'utf8').trim();
    // The name may hold anything: the fields from the third on follow its last parenthesis.
    const fields = read('stat')
      .replace(/^.*\) /s, '')
      .split(' ');
    return [read('comm'), Number(fields[16])];
  };
  return new Map(readdirSync(`/proc/${pid}/task`).map(of));
}

test.skipIf(process.platform !== 'linux')(
  'the thread that answers webhooks goes before the one that applies them',
  { timeout: 30_000 },
  async (test) => {
    const mirror = await startMirror(test, await startService(test));
    const found = priorities(mirror.pid);
    expect(found.get('apply')).toBe((found.get('receiver') ?? Number.NaN) + 10);
  },
);
