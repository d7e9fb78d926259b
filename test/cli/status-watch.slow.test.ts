/** `status --watch`: for a person at a terminal, and for a pipe. */
import { renameSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { recipesMirror } from '../docs/recipes-mirror.ts';
import {
  databaseOf,
  freePort,
  hasTerminal,
  start,
  startAtTerminal,
  temporaryFolder,
  untilPrinted,
  type Home,
} from './harness.ts';

async function readerOf(path: string): Promise<Home> {
  return { folder: temporaryFolder(), env: { DATABASE_PATH: path, OPS_PORT: String(await freePort()) } };
}

test('a line for each look, until Ctrl-C; a mirror that is not there yet ends nothing', async () => {
  const home = await readerOf('./mirror.db');
  const watching = start(home, 'status', '--watch');
  await untilPrinted(watching, /^[\d:]{8} {2}error: no mirror runs and .* does not exist: .*\n/);
  renameSync(recipesMirror(), databaseOf(home));
  await untilPrinted(
    watching,
    /\n[\d:]{8} {2}.* {2}1 of \d+ stock levels suspect {2}1 reads pending {2}feed at 39\n[^]*\n.*feed at 39\n/,
  );
  watching.signal('SIGINT');
  expect((await watching.ended).code).toBe(130);
});

test('a line of JSON for each look', async () => {
  const watching = start(await readerOf(recipesMirror()), 'status', '--watch', '--json');
  await untilPrinted(watching, /\n.+\n/);
  watching.signal('SIGTERM');
  const { code, stdout } = await watching.ended;
  expect(code).toBe(130);
  for (const line of stdout.trimEnd().split('\n')) {
    expect(JSON.parse(line)).toMatchObject({ last_seq: 39, suspect_count: 1 });
  }
});

test.runIf(hasTerminal)('at a terminal it is drawn anew in its place', async () => {
  const watching = startAtTerminal(await readerOf(recipesMirror()), 'status', '--watch');
  // Up by as many lines as were drawn, and erased.
  // eslint-disable-next-line no-control-regex -- it is the control character that is looked for.
  await untilPrinted(watching, /Ctrl-C ends it[^]*\u001B\[\d+A\r\u001B\[J[^]*Ctrl-C ends it/);
  watching.type('\u0003');
  const { code, stdout } = await watching.ended;
  expect(code).toBe(130);
  expect(stripVTControlCharacters(stdout)).toMatch(/\r\nsuspect levels +1\r\n/);
});
