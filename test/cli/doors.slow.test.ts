/** README's three doors, command by command, against a simulated store and a mirror of it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { blocksOf, documentAt, sectionOf } from '../docs/blocks.ts';
import { printedBy } from '../docs/served.ts';
import { present } from '../shared/present.ts';
import { CLI, eventually, homeOf, startServer, startService, untilQuiet, type Home } from './harness.ts';

const readme = documentAt('README.md');
/** As many as a newcomer is asked to type. */
const COMMANDS = 5;

let sandbox: Sandbox;
let home: Home;

beforeAll(async () => {
  sandbox = await startService({ products: 20 });
  home = await homeOf(sandbox);
  await startServer(home, sandbox);
  await untilQuiet(home);
});

function commandsOf(door: string): string {
  const [block] = blocksOf(sectionOf(readme, door), 'sh');
  if (block === undefined) throw new Error(`${door} has no commands`);
  return block.text;
}

/** Runs commands of a door in the folder of the running mirror. @returns what they print. */
async function run(commands: string): Promise<string> {
  const here = commands.replaceAll(/npm run (\w+)( --)?/g, `"${process.execPath}" "${CLI}" $1`);
  return printedBy(`cd "${home.folder}"\n${here}`, {
    places: {
      'http://127.0.0.1:8790': sandbox.baseUrl,
      'http://127.0.0.1:8788': `http://127.0.0.1:${home.env['OPS_PORT']}`,
      'client_id=sandbox-client': `client_id=${sandbox.clientId}`,
      'client_secret=sandbox-secret': `client_secret=${sandbox.clientSecret}`,
      'data/stock-mirror.db': 'mirror.db',
    },
    env: home.env,
  });
}

test.each(['I place orders', 'I read the stock', 'I operate it'])('%s: five commands', (door) => {
  expect(commandsOf(door).trim().split('\n')).toHaveLength(COMMANDS);
});

test('I place orders: the order is there, and what it took is in the mirror', async () => {
  const commands = commandsOf('I place orders').trim().split('\n');
  const [created = '', read = ''] = (await run(commands.slice(0, -1).join('\n'))).split('\n');
  const { order } = JSON.parse(created) as { order: { id: string } };
  expect(JSON.parse(read)).toMatchObject({ order: { id: order.id, external_order_id: 'web-1' } });
  // A person types this one when the webhook has long arrived.
  await eventually(
    async () => /^SKU-00001\|\d+\|\d+\|order_reserved$/m.test(await run(present(commands.at(-1)))),
    {
      what: 'what the order took is in the mirror',
    },
  );
});

test('I read the stock: by SQL, over HTTP and as a file', async () => {
  const printed = await run(commandsOf('I read the stock'));
  expect(printed).toMatch(/^(SKU-\d+\|\d+\|-?\d+\|[01]\n){5}/);
  expect(printed).toMatch(/^live\|\d+\|\d+$/m);
  expect(printed).toContain('"stock":[{"variant_id"');
  expect(printed).toContain('"changes":[{"seq"');
  expect(readFileSync(join(home.folder, 'stock.csv'), 'utf8')).toMatch(/^variant_id,warehouse_id,/);
});

test('I operate it: every command answers', async () => {
  const printed = await run(commandsOf('I operate it'));
  expect(printed).toContain('live');
  expect(printed).toMatch(/^run \d+ done: 20 products read/m);
  expect(printed).toMatch(/^equal: 20 products/m);
  expect(readFileSync(join(home.folder, 'mirror-backup.db')).subarray(0, 15).toString()).toBe(
    'SQLite format 3',
  );
});
