import { expect, test } from 'vitest';
import { commandsOf, withOwnCommands } from '../../src/platform/own-command.ts';

const npm = { npm_lifecycle_event: 'start' };
const unit = '0::/system.slice/system-stock\\x2dmirror.slice/stock-mirror@shop.service\n';
const bin = '/usr/lib/node_modules/stock-mirror/dist/bin.js';

test.each([
  ['a package', { env: {}, entry: bin, cgroup: '' }, 'stock-mirror resync --product 5'],
  ['a clone', { env: npm, entry: '/home/me/src/main.ts', cgroup: '' }, 'npm run resync -- --product 5'],
  ['a unit', { env: {}, entry: bin, cgroup: unit }, 'stock-mirror-run shop resync --product 5'],
  ['npx', { env: npm, entry: bin, cgroup: '' }, 'stock-mirror resync --product 5'],
])('names a command as the operator of %s types it', (_what, installation, expected) => {
  expect(commandsOf(installation)('stock-mirror resync --product 5')).toBe(expected);
});

test('needs no `--` without options', () => {
  expect(commandsOf({ env: npm, entry: 'main.ts', cgroup: '' })('stock-mirror doctor')).toBe(
    'npm run doctor',
  );
});

test('replaces each command of a remedy, and nothing else', () => {
  const commandOf = commandsOf({ env: npm, entry: 'main.ts', cgroup: '' });
  const remedy = 'Read the log of stock-mirror. Run `stock-mirror resync`, or `stock-mirror send --url …`.';
  expect(withOwnCommands(remedy, commandOf)).toBe(
    'Read the log of stock-mirror. Run `npm run resync`, or `npm run send -- --url …`.',
  );
});
