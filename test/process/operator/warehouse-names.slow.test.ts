/** `WAREHOUSE_NAMES`: what a process is started with is what the views and the page say, also of a file made anew. */
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { present } from '../../shared/present.ts';
import { rows, startMirror, startService, untilLive } from '../harness.ts';
import { eventually } from '../wait.ts';

const NAMES = 'SELECT DISTINCT warehouse_name AS name FROM mirror_stock WHERE warehouse_id = ?';

test('names come with a start, survive the loss of the file, and go with a start without them', async (context) => {
  const sandbox = await startService(context);
  const id = present(sandbox.truth.warehouseIds[0]);
  const mirror = await startMirror(context, sandbox, { env: { WAREHOUSE_NAMES: `${id}=กรุงเทพ` } });
  await untilLive(mirror);
  const named = (): unknown[] =>
    rows<{ name: string | null }>(mirror.databasePath, NAMES, id).map(({ name }) => name);
  await eventually(() => named()[0] === 'กรุงเทพ', { what: 'the warehouse has its name' });
  const page = await (await fetch(`${mirror.opsUrl}/stock`)).text();
  expect(page).toContain('กรุงเทพ');

  for (const end of ['', '-wal', '-shm']) rmSync(`${mirror.databasePath}${end}`, { force: true });
  const isNamedAgain = (): boolean => {
    try {
      return named()[0] === 'กรุงเทพ';
    } catch {
      // The file is being made.
      return false;
    }
  };
  await eventually(isNamedAgain, { what: 'the file that was made anew has the name' });

  await mirror.stop();
  const folder = dirname(mirror.databasePath);
  await startMirror(context, sandbox, { folder });
  await eventually(() => named()[0] === null, { what: 'the name is gone' });
}, 120_000);
