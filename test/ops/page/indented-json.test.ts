/** JSON over several lines: every token as written, whatever the body. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { indentedJson } from '../../../src/ops/page/indented-json.ts';

test('keeps the value, and writes what JSON.stringify writes where nothing is lost', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
      expect(indentedJson(JSON.stringify(value))).toBe(JSON.stringify(value, null, 2));
    }),
  );
});

test('keeps long numbers and repeated fields, which a parser loses', () => {
  expect(indentedJson('{"a":12345678901234567890,"a" : 1.0, "b":"x\\"{"}')).toBe(
    '{\n  "a": 12345678901234567890,\n  "a": 1.0,\n  "b": "x\\"{"\n}',
  );
});

test('is null for what is no JSON, and bounded for brackets alone', () => {
  expect(indentedJson('{"a":')).toBeNull();
  const deep = indentedJson('['.repeat(4_000) + ']'.repeat(4_000));
  expect(deep?.length).toBeLessThan(8_000 * 30);
  const wide = indentedJson(`[${'[[[[[[1]]]]]],'.repeat(20_000)}1]`);
  expect(wide?.length).toBeLessThan(600 << 10);
});
