/**
 * How large the package is and how long its commands take to start: `npm run footprint [-- --rounds 5] [FOLDER…]`, for
 * this project and for each other checkout, with its dependencies, that is named. In turns, so that what else the machine
 * does falls on all alike; the median of the rounds.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { bytesOnDisk, installPackage, loadedByEntry } from './footprint/package.ts';
import { makeHome, processorOf, startOf } from './footprint/processes.ts';

const { values, positionals } = parseArgs({
  options: { rounds: { type: 'string', default: '5' } },
  allowPositionals: true,
});
const rounds = Number(values.rounds);
if (!Number.isInteger(rounds) || rounds < 2) throw new Error('--rounds takes a whole number from 2');

const COMMANDS = ['--version', '--help', 'status', 'doctor'];
const megabytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MB`;

interface Subject {
  readonly name: string;
  readonly bin: string;
  readonly home: Awaited<ReturnType<typeof makeHome>>;
  readonly figures: Map<string, number[]>;
}

const folder = mkdtempSync(join(tmpdir(), 'stock-mirror-footprint-'));
try {
  const subjects: Subject[] = [];
  const projects = [
    fileURLToPath(new URL('../', import.meta.url)),
    ...positionals.map((path) => resolve(path)),
  ];
  for (const [number, project] of projects.entries()) {
    const installed = installPackage(project, join(folder, String(number)));
    const client = loadedByEntry(installed, './client');
    const name = number === 0 ? 'this' : basename(project);
    console.log(`${name}: installed ${megabytes(bytesOnDisk(installed.prefix))}`);
    console.log(
      `${name}: stock-mirror/client loads ${megabytes(client.bytes)}, with code of ${[...client.packages].join(', ')}`,
    );
    const home = join(folder, `home-${number}`);
    mkdirSync(home);
    const bin = join(installed.folder, 'dist/bin.js');
    subjects.push({ name, bin, home: await makeHome(home), figures: new Map() });
  }

  for (let round = 0; round < rounds; round += 1) {
    for (const { bin, home, figures } of subjects) {
      const add = (name: string, figure: number): void => {
        figures.set(name, [...(figures.get(name) ?? []), figure]);
      };
      // The first start makes the database, and compiles all there is.
      const prefix = round === 0 ? 'cold ' : '';
      const start = await startOf(home, bin);
      add(`${prefix}serve, s until the first 204`, start.seconds);
      add(`${prefix}serve, s of processor, stop included`, start.processor);
      if (round === 0) continue;
      for (const command of COMMANDS) add(`${command}, s of processor`, processorOf(home, [bin, command]));
      add('node alone, s of processor', processorOf(home, ['--eval', '0']));
    }
  }

  for (const name of subjects[0]?.figures.keys() ?? []) {
    const columns = subjects.map(({ name: subject, figures }) => {
      const sorted = (figures.get(name) ?? []).toSorted((a, b) => a - b);
      const all = sorted.map((figure) => figure.toFixed(2)).join(' ');
      return `${subject} ${(sorted[Math.floor(sorted.length / 2)] ?? NaN).toFixed(2)} (${all})`;
    });
    console.log(`${name}: ${columns.join(' · ')}`);
  }
} finally {
  rmSync(folder, { recursive: true });
}
