/** `changes`: the feed from the file alone, from a number on, of a SKU, and as it grows. */
import { renameSync } from 'node:fs';
import { expect, test } from 'vitest';
import { recipesMirror } from '../docs/recipes-mirror.ts';
import { delivery, DirectWriter, item, writerDb } from '../mirror/mirror-file.ts';
import { run, start, temporaryFolder, untilPrinted, type Home } from './harness.ts';

const readerOf = (path: string): Home => ({ folder: temporaryFolder(), env: { DATABASE_PATH: path } });

const seqsIn = (lines: string): number[] =>
  lines
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => (JSON.parse(line) as { seq: number }).seq);

test('the last ones, those after a number, those of a SKU', async () => {
  const home = readerOf(recipesMirror());
  const all = await run(home, 'changes', '--after', '0', '--json');
  expect({ code: all.code, stderr: all.stderr }).toEqual({ code: 0, stderr: '' });
  const seqs = seqsIn(all.stdout);
  expect(seqs.at(-1)).toBe(39);
  expect(seqs).toEqual(seqs.toSorted((a, b) => a - b));

  const later = await run(home, 'changes', '--after', '30', '--json');
  expect(seqsIn(later.stdout)).toEqual([31, 32, 33, 36, 39]);
  const few = await run(home, 'changes', '--last', '2', '--json');
  expect(seqsIn(few.stdout)).toEqual([36, 39]);
  const mugs = await run(home, 'changes', '--sku', 'MUG-01', '--last', '2');
  expect(mugs.stdout).toMatch(
    /^\d+ {2}[\d-]{10} [\d:]{8} {2}MUG-01 {2}warehouse 11, Bangkok {2}39 → 34 -5 {2}order_reserved, order 9004\n39 {2}.* {2}34 → 30 -4 {2}user_set, user 3\n$/,
  );
  const removed = await run(home, 'changes', '--sku', 'CAP-01', '--last', '1');
  expect(removed.stdout).toMatch(/ {2}CAP-01 {2}total {2}4 → none {2}read: Removed\n$/);
});

test('--follow goes on with each change, of the SKU alone, and says where to go on', async () => {
  const path = recipesMirror();
  const following = start(readerOf(path), 'changes', '--follow', '--sku', 'MUG-01', '--last', '1', '--json');
  await untilPrinted(following, /"seq":39/);
  const writer = new DirectWriter(writerDb(path));
  const sell = (variant: string, sku: string, change: readonly [number, number]): void => {
    const [old, level] = change;
    const at = Date.now();
    writer.deliver(
      delivery(
        `req-${sku}-${level}`,
        item({ id: variant, sku, old, new: level, warehouse_id: '11', update_time: at }),
      ),
      at,
    );
  };
  sell('7001', 'TS-RED-M', [7, 6]);
  sell('7003', 'MUG-01', [30, 29]);
  await untilPrinted(following, /"seq":41,/);
  sell('7003', 'MUG-01', [29, 28]);
  await untilPrinted(following, /"seq":42,/);
  following.signal('SIGINT');
  const { code, stdout, stderr } = await following.ended;
  expect(code).toBe(130);
  expect(seqsIn(stdout)).toEqual([39, 41, 42]);
  const [, epoch = ''] =
    /^to go on: stock-mirror changes --follow --after 42 --epoch ([0-9a-f]+) --sku "MUG-01"\n$/.exec(
      stderr,
    ) ?? [];
  const later = await run(readerOf(path), 'changes', '--after', '41', '--epoch', epoch, '--json');
  expect(seqsIn(later.stdout)).toEqual([42]);
});

test('what nothing can go on from is said, and nothing is printed', async () => {
  const home = readerOf(recipesMirror());
  const another = await run(home, 'changes', '--after', '30', '--epoch', '0a1b2c');
  expect(another).toMatchObject({ code: 1, stdout: '' });
  expect(another.stderr).toMatch(/^error: epoch: the mirror’s history has restarted, .*last_seq 39\)\n$/);
  const ahead = await run(home, 'changes', '--after', '40');
  expect(ahead).toMatchObject({ code: 1, stdout: '' });
  expect(ahead.stderr).toMatch(
    /^error: after: 40 has not been issued yet, the last number is 39; read all of the stock/,
  );
});

test('another file in the place of the one that is followed is followed from then on', async () => {
  const path = recipesMirror();
  const other = recipesMirror();
  const following = start(readerOf(path), 'changes', '--follow', '--last', '1');
  await untilPrinted(following, /^39 /);
  renameSync(other, path);
  const { code, stderr } = await following.ended;
  expect(code).toBe(1);
  expect(stderr).toMatch(/^error: epoch: the mirror’s history has restarted/);
});
