import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { curlOf } from '../../src/sandbox/ui/raw-view.ts';

test('a copied command means the same to a shell', () => {
  const body = '{"a":"it\'s $HOME `x` \\"q\\" ก"}';
  const headers = [
    ['X-A', "o'n"],
    ['Host', 'h'],
  ] as const;
  const command = curlOf({ method: 'POST', url: "http://h/?q=a'b", headers, body });
  const printed = execFileSync('bash', ['-c', `curl() { printf '%s\\n' "$@"; }; ${command}`], {
    encoding: 'utf8',
  });
  expect(printed.split('\n').slice(0, -1)).toEqual([
    ...['-sS', '-i', "http://h/?q=a'b", '-H', "X-A: o'n", '--data-binary', body],
  ]);
});
