/** `npm run bench`: what the mirror does in a second, and how long it takes, each figure against its own baseline. */
import { accessSync, constants, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { cpus, getPriority, setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Part } from './bench/bench.ts';
import { buildMirror, NICE } from './bench/mirror.ts';
import { burst } from './bench/parts/burst.ts';
import { firstSync } from './bench/parts/first-sync.ts';
import { latency } from './bench/parts/latency.ts';
import { slowQueries } from './bench/parts/queries.ts';
import { reads } from './bench/parts/reads.ts';
import { recovery } from './bench/parts/recovery.ts';
import { size } from './bench/parts/size.ts';
import { start } from './bench/parts/start.ts';
import { visible } from './bench/parts/visible.ts';
import { table, type Row } from './bench/row.ts';

const PARTS: readonly Part[] = [
  burst,
  latency,
  size,
  reads,
  firstSync,
  visible,
  start,
  recovery,
  slowQueries,
];

const USAGE = `npm run bench -- [--only a,b] [--quick] [--json <file>]

Measures the mirror on this machine, and says which targets are met. Parts:
${PARTS.map(({ id, title, onRequest }) => `  ${id}  ${title}${onRequest === true ? ' (only when named)' : ''}`).join('\n')}

  --only   these parts alone
  --quick  a short look: fewer rounds, smaller catalogues
  --json   where the figures are written (default: bench.json in the system's temporary folder)

Exit codes: 0 measured, 1 a ratio is far from its target or a measurement failed, 2 wrong usage.`;

/** Where Linux keeps files in memory, and how much of it the largest database takes with its write-ahead log. */
const IN_MEMORY = '/dev/shm';
const LARGEST_BYTES = 6e9;

function hasRoomInMemory(): boolean {
  try {
    accessSync(IN_MEMORY, constants.W_OK);
    const { bavail, bsize } = statfsSync(IN_MEMORY);
    return bavail * bsize > LARGEST_BYTES;
  } catch {
    return false;
  }
}

function usageError(text: string): never {
  console.error(`error: ${text}\n\n${USAGE}`);
  process.exit(2);
}

function options() {
  try {
    return parseArgs({
      options: {
        only: { type: 'string' },
        quick: { type: 'boolean', default: false },
        json: { type: 'string', default: join(tmpdir(), 'bench.json') },
        help: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    return usageError((error as Error).message);
  }
}

/**
 * For all that is started from here, but the other program's scan: the mirror, which has this priority where it is
 * deployed, its baselines, and the store's side, which in production is on other machines.
 */
function raisePriority(): void {
  try {
    setPriority(NICE);
  } catch {
    console.error(`not allowed to run at nice ${NICE}, as deployed: answers beside a scan will take longer`);
  }
}

const { only, quick, json, help } = options();
if (help) {
  console.log(USAGE);
  process.exit(0);
}
const wanted = only?.split(',') ?? PARTS.filter(({ onRequest }) => onRequest !== true).map(({ id }) => id);
const unknown = wanted.filter((id) => !PARTS.some((part) => part.id === id));
if (unknown.length > 0) usageError(`--only ${unknown.join(',')}: there is no such part`);

buildMirror();
raisePriority();
const machine = {
  cpu: cpus()[0]?.model ?? 'unknown',
  cores: cpus().length,
  node: process.version,
  nice: getPriority(),
};
const folders: string[] = [];
const newFolder = (parent: string): string => {
  const folder = mkdtempSync(join(parent, 'stock-mirror-bench-'));
  folders.push(folder);
  return folder;
};
process.once('exit', () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});
// Ctrl-C reaches the children as well; the databases are too large to be left behind.
process.once('SIGINT', () => process.exit(130));
process.once('SIGTERM', () => process.exit(143));
const folder = newFolder(tmpdir());
const memoryFolder = hasRoomInMemory() ? newFolder(IN_MEMORY) : folder;
const rows: Row[] = [];
const appendix: string[] = [];
const startedMs = performance.now();

function measure(part: Part): Promise<readonly Row[]> {
  const say = (text: string): void => {
    const atS = (performance.now() - startedMs) / 1_000;
    console.error(`${atS.toFixed(0).padStart(4)} s  ${part.id}  ${text}`);
  };
  say(part.title);
  const append = (lines: readonly string[]): void => void appendix.push(...lines);
  return part.run({ quick, folder, memoryFolder, say, append });
}

const parts = PARTS.filter(({ id }) => wanted.includes(id));
const ofPace = (pace: Part['pace']) => parts.filter((part) => part.pace === pace);
const found = new Map<Part, readonly Row[]>();
const failures: string[] = [];
/** One that fails takes no other's figures with it. */
const measureAll = async (some: readonly Part[]): Promise<void> => {
  for (const part of some) {
    try {
      found.set(part, await measure(part));
    } catch (error) {
      failures.push(
        `part ${part.id} failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
      );
    }
  }
};
await Promise.all([measureAll(ofPace('background')), measureAll(ofPace('tolerant'))]);
await measureAll(ofPace(undefined));
for (const part of parts) rows.push(...(found.get(part) ?? []));

const tookS = (performance.now() - startedMs) / 1_000;
console.log(
  `\n${machine.cores} × ${machine.cpu}, Node ${machine.node}, nice ${machine.nice}, ` +
    `${tookS.toFixed(0)} s${quick ? ', quick' : ''}\n`,
);
console.log(table(rows));
if (appendix.length > 0) console.log(`\n${appendix.join('\n')}`);
await writeFile(json, `${JSON.stringify({ machine, quick, tookS, rows }, null, 2)}\n`);
console.log(`\nThe figures as JSON: ${json}`);
for (const failure of failures) console.error(`\n${failure}`);
process.exitCode = failures.length > 0 || rows.some(({ target }) => target?.farOff === true) ? 1 : 0;
