import { spawnSync } from 'node:child_process';
import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { createLog, openOutput } from '../../src/platform/log.ts';
import { Secret } from '../../src/platform/secret.ts';

function written(isTTY: boolean): string {
  const stream = Object.assign(new PassThrough(), { isTTY });
  const log = createLog('info', openOutput(stream as unknown as NodeJS.WriteStream));
  log.debug('not asked for');
  log.warn({ productId: '12', key: new Secret('never shown') }, 'a read failed');
  return String(stream.read());
}

test('writes a JSON object per line for programs', () => {
  const lines = written(false).trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
    {
      level: 'warn',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      productId: '12',
      key: '[secret]',
      msg: 'a read failed',
    },
  ]);
});

test('writes text at a terminal', () => {
  const text = written(true);
  expect(stripVTControlCharacters(text)).toMatch(
    /^\d\d:\d\d:\d\d WARN +a read failed productId="12" key="\[secret\]"\n$/,
  );
  expect(text).not.toContain('never shown');
});

const IMPORT = `import { createLog, openOutput } from ${JSON.stringify(new URL('../../src/platform/log.ts', import.meta.url).href)};`;

test('writes every line in order, including the last', () => {
  const program = `${IMPORT}
    const log = createLog('info');
    for (let n = 0; n < 3_000; n += 1) log.info({ n }, 'a line');`;
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
  });
  const lines = stdout.trimEnd().split('\n');
  expect(lines.map((line) => (JSON.parse(line) as { n: number }).n)).toEqual(lines.map((_, n) => n));
  expect(lines).toHaveLength(3_000);
});
