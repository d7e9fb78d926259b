/** What the bench starts beside itself is named by its path: each is where that says. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const BENCH = join(import.meta.dirname, '../../../scripts/bench');

test('every program that a part starts is there', () => {
  const parts = readdirSync(join(BENCH, 'parts')).map((name) =>
    readFileSync(join(BENCH, 'parts', name), 'utf8'),
  );
  const started = parts.flatMap((text) =>
    [...text.matchAll(/new Child\(\s*'([^']+)'/g)].map(([, path]) => path),
  );
  expect(started.length).toBeGreaterThan(3);
  expect(started.filter((path) => !existsSync(join(BENCH, path ?? '')))).toEqual([]);
});
