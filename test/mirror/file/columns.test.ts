import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { columnsFile } from '../../../scripts/columns.ts';

test('the generated columns are those of the schema: `npm run db:columns` writes them', async () => {
  const written = readFileSync(new URL('../../../src/mirror/file/columns.ts', import.meta.url), 'utf8');
  expect(written).toBe(await columnsFile());
});
