import { expect, test } from 'vitest';
import { prepareRows } from '../../src/sqlite/prepared.ts';
import { writerDb } from '../mirror/mirror-file.ts';

test('refuses a column that the table lacks', () => {
  const db = writerDb();
  const epoch = (expression: string) =>
    prepareRows<[], { readonly epoch: string }>(
      db,
      { epoch: expression },
      (columns) => `SELECT ${columns} FROM service_state`,
    );
  expect(epoch('epoch').columns()).toMatchObject([{ name: 'epoch', column: 'epoch' }]);
  expect(() => epoch('epoc')).toThrow('no such column: epoc');
});
