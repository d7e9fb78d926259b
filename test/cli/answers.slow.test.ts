/** What each command prints with --json is what its schema in docs/schemas describes, and nothing besides. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import { beforeAll, expect, test } from 'vitest';
import { ANSWER_NAMES, schemaOf, type AnswerName } from '../../scripts/schemas.ts';
import { EventLog } from '../../src/event-log/event-log.ts';
import { eventLogPath, openLogForAppending } from '../../src/event-log/open-log.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { present } from '../shared/present.ts';
import {
  databaseOf,
  freePort,
  homeOf,
  run,
  startServer,
  startService,
  untilQuiet,
  type Home,
  type RunningCommand,
} from './harness.ts';

type Case = readonly [schema: AnswerName, ...args: string[]];

const SERVED: readonly Case[] = [
  ['status', 'status', '--json'],
  ['resync', 'resync', '--json'],
  ['resync-detached', 'resync', '--detach', '--json'],
  ['verify', 'verify', '--json'],
  ['verify-local', 'verify', '--local', '--json'],
  ['stock', 'stock', 'SKU-00001', '--json'],
  ['stock', 'stock', 'NO-SUCH-SKU', '--json'],
  ['change', 'changes', '--after', '0', '--json'],
  ['change', 'export', '--format', 'json', '--changes'],
  ['stock-row', 'export', '--format', 'json'],
  ['doctor', 'doctor', '--json'],
  ['backup', 'backup', 'copy.db', '--json'],
  ['prune', 'prune', '--json'],
  ['rebuild', 'rebuild', '--check', '--json'],
  ['send', 'send', '--json'],
];
/** The server has ended, and what the mirror holds is not what the store has. */
const STOPPED: readonly Case[] = [
  ['status', 'status', '--json'],
  ['doctor', 'doctor', '--json'],
  ['verify', 'verify', '--json'],
  ['prune', 'prune', '--json'],
  ['rebuild', 'rebuild', '--json'],
  ['resync', 'resync', '--json'],
];

/** The files are those of a copy. */
const PROMOTED: Case = ['promote', 'promote', '--json'];

let sandbox: Sandbox;
let home: Home;
let server: RunningCommand;

const ajv = new Ajv2020({ allErrors: true, strictTypes: false });
const validators = new Map(
  ANSWER_NAMES.map((name) => [name, ajv.compile(schemaOf(name, { isStrict: true }))]),
);

async function answersOf([name, ...args]: Case): Promise<void> {
  const { stdout, stderr } = await run(home, ...args);
  const lines = stdout.split('\n').slice(0, -1);
  expect(lines.length, stderr).toBeGreaterThan(0);
  const validate = present(validators.get(name));
  for (const line of lines) {
    validate(JSON.parse(line));
    expect({ line, errors: validate.errors }).toEqual({ line, errors: null });
  }
}

beforeAll(async () => {
  sandbox = await startService({ products: 5 });
  home = await homeOf(sandbox, { PORT: String(await freePort()) });
  server = await startServer(home, sandbox);
  await untilQuiet(home);
});

test.each(SERVED.map((asked) => ({ asked })))('from a running mirror: $asked', ({ asked }) =>
  answersOf(asked),
);

test('the same commands without a running mirror', { timeout: 120_000 }, async () => {
  server.signal('SIGTERM');
  await server.ended;
  sandbox.webhookUrl = null;
  sandbox.operations.createProduct();
  for (const asked of STOPPED) await answersOf(asked);
});

test('a copy that is promoted', async () => {
  const path = eventLogPath(databaseOf(home));
  const db = openLogForAppending(path);
  new EventLog(db).copy({ rows: [], firstSeq: null, origin: 'https://primary', cursor: null });
  db.close();
  await answersOf(PROMOTED);
});

test('every schema has been looked at', () => {
  const looked = new Set([...SERVED, ...STOPPED, PROMOTED].map(([name]) => name));
  expect([...looked].toSorted()).toEqual([...ANSWER_NAMES].toSorted());
});
