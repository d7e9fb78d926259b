/** docs/troubleshooting.md says the same five things of every symptom, and what it promises is shown by tests. */
import { globSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { ALARM_KINDS } from '../../src/ops/alarms/alarm.ts';
import { present } from '../shared/present.ts';
import { codeIn, documentAt, ROOT, sectionOf, rowsOf } from './blocks.ts';

const text = documentAt('docs/troubleshooting.md');

describe('symptoms', () => {
  const symptoms = sectionOf(text, 'Symptoms');
  const entries = symptoms.split(/^### /m).slice(1);

  test.each(entries.map((entry) => [present(entry.split('\n')[0]), entry]))('%s', (_, entry) => {
    const said = [...entry.matchAll(/^- \*\*(.+?):\*\* \S/gm)].map(([, what]) => what);
    expect(said).toEqual(['You see', 'Cause', 'Fault', 'Figures', 'Do']);
  });

  test('every alarm, every reason to read nothing, and every answer but 204 is one', () => {
    const named = codeIn(symptoms);
    for (const kind of [...ALARM_KINDS, 'breaker', 'rate_limited', '401', '413', '503']) {
      expect(named).toContain(kind);
    }
  });
});

const lines = rowsOf(sectionOf(text, 'What happens when'));

test('the lines of "What happens when" are many', () => {
  expect(lines.length).toBeGreaterThan(30);
});

test.each(lines.map((row) => [present(row['when']), present(row['shown by'])]))(
  '%s: the tests are there',
  (_, shownBy) => {
    const names = codeIn(shownBy).filter((name) => !name.startsWith('npm run '));
    expect(names).not.toEqual([]);
    const missing = names.filter(
      (name) =>
        globSync(
          [`test/${name}{,.slow,.long,.alone}.test.ts`, `test/${name}/${name}{,.slow,.long,.alone}.test.ts`],
          {
            cwd: ROOT,
          },
        ).length === 0,
    );
    expect(missing).toEqual([]);
  },
);
