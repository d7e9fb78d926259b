import { expect, test } from 'vitest';
import { commandsOf } from '../../src/platform/own-command.ts';

const npm = { npm_lifecycle_event: 'start' };
const unit = '0::/system.slice/system-stock\\x2dmirror.slice/stock-mirror@shop.service\n';

test.each([
  ['a package', {}, '/usr/lib/node_modules/stock-mirror/dist/bin.js', '', 'stock-mirror resync --product 5'],
  ['a clone', npm, '/home/me/stock-mirror/src/main.ts', '', 'npm run resync -- --product 5'],
  ['a unit', {}, '/usr/bin/stock-mirror', unit, 'stock-mirror-run shop resync --product 5'],
  ['npx', npm, '/home/me/dist/bin.js', '', 'stock-mirror resync --product 5'],
])('names a command as the operator of %s types it', (_what, env, entry, cgroup, expected) => {
  expect(commandsOf({ env, entry, cgroup })('stock-mirror resync --product 5')).toBe(expected);
});

test('needs no `--` without options', () => {
  expect(commandsOf({ env: npm, entry: 'main.ts', cgroup: '' })('stock-mirror doctor')).toBe(
    'npm run doctor',
  );
});
