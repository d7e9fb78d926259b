import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseDotenv } from '../../src/config/dotenv.ts';

test.each(['', ' ', '\t', ' \t ', '\u00A0'])(
  'a name without a value, then %j, takes nothing of the next line',
  (blank) => {
    const { values, faults } = parseDotenv(`OPS_TOKEN=${blank}\nPORT=9000\n`);
    if (faults.length === 0) expect(values).toEqual({ OPS_TOKEN: '', PORT: '9000' });
    else expect(faults[0]).toMatchObject({ line: 1 });
  },
);

test('blanks inside a quoted value that runs over several lines are kept', () => {
  expect(parseDotenv('A="B= \nC"\nD=1')).toEqual({ values: { A: 'B= \nC', D: '1' }, faults: [] });
});

test('whatever is written, each line is read as it stands there, or named', () => {
  const blank = fc.constantFrom('', ' ', '\t', '  ');
  const line = fc.record({
    indent: blank,
    prefix: fc.constantFrom('', '', '', 'export ', 'export\t', 'export  '),
    name: fc.constantFrom('A', 'B', 'C_1', 'D'),
    before: blank,
    after: blank,
    value: fc.constantFrom('', '1', 'x y', 'a=b', "it's", 'a\\nb', '$A', '{}', '-', 'é'),
    end: fc.constantFrom('', ' ', '\t', ' # note', '\t# note'),
  });
  fc.assert(
    fc.property(
      fc.array(line, { minLength: 1, maxLength: 5 }),
      fc.constantFrom('\n', '\r\n'),
      (lines, eol) => {
        const text = lines.map(
          ({ indent, prefix, name, before, after, value, end }) =>
            `${indent}${prefix}${name}${before}=${after}${value}${end}`,
        );
        const { values, faults } = parseDotenv(text.join(eol));
        if (faults.length > 0) return;
        const meant = Object.fromEntries(lines.map(({ name, value }) => [name, value]));
        expect(values).toEqual(meant);
      },
    ),
    { numRuns: 2_000 },
  );
});

test('what people write is not named', () => {
  const text = "# ours\nA=1\n  export B = \"two words\"  # note\nC=\nD= \n\nE='x'\nF=it's # so\n";
  expect(parseDotenv(text)).toEqual({
    values: { A: '1', B: 'two words', C: '', D: '', E: 'x', F: "it's" },
    faults: [],
  });
});
