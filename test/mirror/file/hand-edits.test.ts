/** Another program, or a person at a shell, writes the mirror's rows: which products these are is noted. */
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { queries } from '../../../src/mirror/reader/queries.ts';
import { delivery, detail, DirectWriter, item, T0, values } from '../mirror-file.ts';

function mirrorOfTwo(): DirectWriter {
  const writer = new DirectWriter();
  for (const id of ['10', '20']) {
    writer.read(id, detail(id, [{ id: `${id}0`, levels: { 1: 5, 2: 7 } }]), T0);
  }
  return writer;
}

const edited = (writer: DirectWriter): string[] =>
  queries.dueChores(writer.db, { nowMs: T0 }).edited.toSorted();

/** As a person at a shell would. */
function atAShell(writer: DirectWriter, sql: string): void {
  const other = new Database(writer.db.name);
  other.exec(sql);
  other.close();
}

test("the mirror's own writes are not noted", () => {
  const writer = mirrorOfTwo();
  writer.deliver(delivery('a', item({ update_time: T0 + 60_000 })), T0 + 60_000);
  writer.read('10', null, T0 + 120_000);
  expect(edited(writer)).toEqual([]);
});

test.each([
  ["UPDATE cells SET qty = 99 WHERE variant_id = '100' AND warehouse_id = '1'", ['10']],
  ["UPDATE variants SET available_qty = 99 WHERE variant_id = '200'", ['20']],
  ["UPDATE products SET name = 'x'", ['10', '20']],
  ["DELETE FROM cells WHERE variant_id = '200'", ['20']],
  ["DELETE FROM variants WHERE variant_id = '100'", ['10']],
  ["UPDATE variants SET product_id = '20' WHERE variant_id = '100'", ['10', '20']],
  ['CREATE TABLE mine (x); INSERT INTO mine VALUES (1)', []],
])('%s', (sql, products) => {
  const writer = mirrorOfTwo();
  atAShell(writer, sql);
  expect(edited(writer)).toEqual(products);
  writer.commit({ kind: 'command', name: 'forgetEdits', args: { productIds: products } });
  expect(edited(writer)).toEqual([]);
});

test('a transaction of the mirror that fails leaves later edits to be noted', () => {
  const writer = mirrorOfTwo();
  const [failed] = writer.commit({ kind: 'command', name: 'failRead', args: {} });
  expect(failed?.ok).toBe(false);
  expect(values(writer.db, 'SELECT is_open FROM own_write')).toEqual([0]);
  atAShell(writer, "UPDATE cells SET qty = 99 WHERE variant_id = '100'");
  expect(edited(writer)).toEqual(['10']);
});
