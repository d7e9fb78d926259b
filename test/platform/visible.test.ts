import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { describeCheck, fail } from '../../src/cli/doctor/check.ts';
import { createProgress } from '../../src/cli/shared/progress.ts';
import { describeError } from '../../src/cli/run.ts';
import { describe as describeVerdict } from '../../src/cli/verify.ts';
import { ConfigError, formatConfigError } from '../../src/config/error.ts';
import { createLog, openOutput } from '../../src/platform/log.ts';
import { visible } from '../../src/platform/visible.ts';

const SKU = 'A\u001b[2J\u009b31m\u0007\n\u202eB\u2066\u200f\u2028\u007f';
const SHOWN = 'A\\u001b[2J\\u009b31m\\u0007\\u000a\\u202eB\\u2066\\u200f\\u2028\\u007f';
const INVISIBLE = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u;

function logged(isTTY: boolean): string {
  const stream = Object.assign(new PassThrough(), { isTTY });
  createLog('info', openOutput(stream as unknown as NodeJS.WriteStream)).warn(
    { sku: SKU },
    `drift of ${SKU}`,
  );
  return String(stream.read());
}

test('escapes invisible characters only', () => {
  expect(visible(SKU)).toBe(SHOWN);
  expect(visible('สมหญิง – Größe 42, 👩‍👧 “x”')).toBe('สมหญิง – Größe 42, 👩‍👧 “x”');
});

test('logs one line with the original text for programs', () => {
  const line = logged(false);
  expect(line.slice(0, -1)).not.toMatch(INVISIBLE);
  expect(JSON.parse(line)).toMatchObject({ sku: SKU, msg: `drift of ${SKU}` });
});

test('escapes log lines at a terminal', () => {
  const text = stripVTControlCharacters(logged(true));
  expect(text).toContain(`drift of ${SHOWN}`);
  expect(text.replaceAll('\n', '')).not.toMatch(INVISIBLE);
});

test('escapes the output of commands', () => {
  const found = {
    what: 'level' as const,
    product_id: '1',
    variant_id: '2',
    warehouse_id: '3',
    sku: SKU,
    mirror: 5,
    service: 4,
    only_in: null,
    suspect: false,
    as_of: 0,
    verified_at: 0,
  };
  const verdict = { products: 1, totals: 1, levels: 1, drift: [found], undecided: [] };
  const printed: string[] = [];
  const stream = { isTTY: false, write: (text: string) => printed.push(text) };
  createProgress(stream as unknown as NodeJS.WriteStream, { unit: '', atFirst: '' }).say(SKU);
  const texts = [
    describeVerdict(
      { ...verdict, unread: [{ product_id: '1', error: SKU }] },
      { names: new Map([['3', SKU]]), held: new Set(), commandOf: (command) => command },
    ),
    describeCheck({ name: 'database', ...fail(SKU, SKU) }),
    describeError(new Error(SKU.replace('\n', ''))),
    formatConfigError(new ConfigError([{ name: 'HOST', problem: `is ${SKU}`, remedy: SKU }])),
    ...printed,
  ];
  for (const text of texts) {
    expect(text).toContain('A\\u001b[2J');
    expect(text.replaceAll('\n', '')).not.toMatch(INVISIBLE);
  }
});
