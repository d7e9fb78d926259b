/** `stock`: what the mirror holds of a SKU, without a mirror that runs and without settings of the store. */
import { expect, test } from 'vitest';
import { recipesMirror } from '../docs/recipes-mirror.ts';
import { run, temporaryFolder, type Home } from './harness.ts';

/** The path is all that the environment says. */
const reader = (): Home => ({ folder: temporaryFolder(), env: { DATABASE_PATH: recipesMirror() } });

test('each warehouse and the total, certain, with where the figure comes from', async () => {
  const { code, stdout, stderr } = await run(reader(), 'stock', 'TS-RED-M');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^TS-RED-M {2}T-shirt, Red, M {2}variant 7001 {2}product 501\n/);
  expect(stdout).toMatch(/^ {2}total {18}10 {2}certain, as of .* ago, verified \d+ min ago$/m);
  expect(stdout).toMatch(
    /^ {2}warehouse 11, Bangkok {3}7 {2}certain, by a .* ago, verified \d+ min ago, on hand \d+, reserved \d+$/m,
  );
  expect(stdout).toMatch(/^ {2}warehouse 12 {12}3 {2}certain, /m);
  expect(stdout).not.toContain('suspect');
});

test('a suspect figure, and why', async () => {
  const home = reader();
  const { code, stdout } = await run(home, 'stock', 'MUG-01');
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /^ {2}warehouse 11, Bangkok {2}30 {2}suspect: a webhook before the last one is late or lost, by a webhook \d+ \S+ ago, /m,
  );
  const json = await run(home, 'stock', 'MUG-01', '--json');
  expect(JSON.parse(json.stdout)).toMatchObject({
    sku: 'MUG-01',
    state: 'live',
    last_seq: 39,
    variants: [{ variant_id: '7003', suspect: 1, suspect_because: ['gap'] }],
    levels: [{ warehouse_id: '11', available_qty: 30, suspect: 1, suspect_because: ['gap'] }],
  });
});

test('a total alone, as of a pulled product, and its kind', async () => {
  const { stdout } = await run(reader(), 'stock', 'POSTER-01');
  expect(stdout).toMatch(/^ {2}total +6 {2}.*, pulled$/m);
  expect(stdout).toMatch(/^ {2}warehouse 21 +4 {2}.*never verified/m);
});

test('a SKU that is not there, and one that is no longer there', async () => {
  const home = reader();
  expect(await run(home, 'stock', 'ts-red-m')).toMatchObject({
    code: 1,
    stdout: '',
    stderr: 'the mirror has no SKU ts-red-m: look for its exact spelling, capitals included\n',
  });
  const removed = await run(home, 'stock', 'CAP-01', '--json');
  expect(removed.code).toBe(1);
  expect(JSON.parse(removed.stdout)).toMatchObject({ variants: [], levels: [] });
  expect(removed.stderr).toMatch(/^the store no longer has SKU CAP-01: the mirror removed it .* ago\n$/);
});
