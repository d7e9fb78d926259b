import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { readableLine } from '../../src/platform/readable-log.ts';

const time = new Date(2026, 0, 2, 3, 4, 5).toISOString();
const shown = (line: object) => stripVTControlCharacters(readableLine(JSON.stringify({ time, ...line })));

test('shows time, level, message and fields in one line', () => {
  expect(shown({ level: 'info', port: 8787, host: '127.0.0.1', msg: 'listening' })).toBe(
    '03:04:05 INFO  listening port=8787 host="127.0.0.1"\n',
  );
  expect(shown({ level: 'warn', msg: 'late' })).toBe('03:04:05 WARN  late\n');
});

test('shows the stack of an error in lines of its own', () => {
  const err = { type: 'Error', message: 'no room', stack: 'Error: no room\n    at write' };
  expect(shown({ level: 'error', err, msg: 'failed' })).toBe(
    '03:04:05 ERROR failed type="Error" message="no room"\nError: no room\n    at write\n',
  );
});
