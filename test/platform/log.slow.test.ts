import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, createReadStream, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { PassThrough, type Readable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
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

test('survives a full disk and a closed pipe', () => {
  const program = `
    import { createLog, openOutput } from ${JSON.stringify(new URL('../../src/platform/log.ts', import.meta.url).href)};
    const log = createLog('info');
    log.info('one');
    setTimeout(() => { log.info('two'); process.stderr.write('alive'); }, 20);`;
  const full = openSync('/dev/full', 'w');
  try {
    const ended = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', full, 'pipe'],
      encoding: 'utf8',
    });
    expect(ended).toMatchObject({ status: 0, stderr: 'alive' });
  } finally {
    closeSync(full);
  }
  const closed = spawnSync(
    'sh',
    ['-c', '"$0" --input-type=module -e "$1" | true', process.execPath, program],
    { encoding: 'utf8' },
  );
  expect(closed.stderr).toBe('alive');
});

const IMPORT = `import { createLog, openOutput } from ${JSON.stringify(new URL('../../src/platform/log.ts', import.meta.url).href)};`;

test.each([false, true])(
  'does not wait for output that is not read (terminal: %s), and counts the dropped lines',
  async (isTTY) => {
    const program = `${IMPORT}
    const log = createLog('info', openOutput({ fd: 1, isTTY: ${isTTY} }));
    for (let n = 0; n < 5_000; n += 1) log.info({ n }, 'x'.repeat(1_000));
    setTimeout(() => process.stderr.write('alive, ' + (process.memoryUsage().rss < 400e6)), 20);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', program]);
    onTestFinished(() => void child.kill('SIGKILL'));
    const [said] = (await once(child.stderr, 'data')) as [Buffer];
    expect(said.toString()).toBe('alive, true');
    expect(child.exitCode).toBeNull();

    let text = '';
    child.stdout.setEncoding('utf8').on('data', (more: string) => (text += more));
    await once(child, 'close');
    const lines = text.match(/x{1000}/g) ?? [];
    const [, dropped] = /lines(?:"?:\s*|=)(\d+)/.exec(stripVTControlCharacters(text)) ?? [];
    expect(lines.length + Number(dropped)).toBe(5_000);
    expect(Number(dropped)).toBeGreaterThan(1_000);
  },
);

test('writes again after more lines than it keeps, once there is room', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'stock-mirror-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'pipe');
  spawnSync('mkfifo', [path]);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const end = openSync(path, 'w');
  closeSync(reader);
  const program = `${IMPORT}
    const log = createLog('info');
    for (let n = 0; n < 5_000; n += 1) log.info({ n }, 'x'.repeat(1_000));
    setInterval(() => undefined, 1_000);
    process.stderr.write('logged');`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', end, 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  closeSync(end);
  await once(child.stderr as Readable, 'data');

  const again = createReadStream(path);
  onTestFinished(() => void again.destroy());
  let lines = 0;
  for await (const line of createInterface({ input: again })) {
    const { lines: dropped } = JSON.parse(line) as { readonly lines?: number };
    if (dropped === undefined) lines += 1;
    else expect(lines + dropped).toBe(5_000);
    if (dropped !== undefined) break;
  }
});

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
