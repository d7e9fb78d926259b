import { expect, test } from 'vitest';
import { commandsOf, withOwnCommands } from '../../src/platform/own-command.ts';

const bin = '/usr/lib/node_modules/stock-mirror/dist/bin.js';

test.each([
  ['a package', null, bin, 'stock-mirror resync --product 5'],
  ['a clone', null, '/home/me/src/main.ts', 'npm run stock-mirror -- resync --product 5'],
  ['a unit', 'stock-mirror-run shop', bin, 'stock-mirror-run shop resync --product 5'],
])('names a command as the operator of %s types it', (_what, typed, entry, expected) => {
  expect(commandsOf(typed, entry)('stock-mirror resync --product 5')).toBe(expected);
});

test('replaces each command of a remedy, and nothing else', () => {
  const remedy = 'Read the log of stock-mirror. Run `stock-mirror resync`, or `stock-mirror send --url …`.';
  expect(withOwnCommands(remedy, commandsOf('run $& shop', bin))).toBe(
    'Read the log of stock-mirror. Run `run $& shop resync`, or `run $& shop send --url …`.',
  );
});
