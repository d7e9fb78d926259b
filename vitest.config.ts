import { existsSync, statfsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Only a hang takes so long. */
const expect = { poll: { timeout: 120_000 } };
const SLOW = 'test/**/*.slow.test.ts';

/** Those that take more than a minute begin first, so that none of them is left to run alone at the end. */
const LONG = [
  'promises/way-in',
  'simulation/stories',
  'stream/machines',
  'disk/mirror-file',
  'examples/to-postgres',
  'crash/crash',
  'readers/life',
  'readers/odd-texts',
  'browser/ops-page',
  'disk/slow-disk',
  'disk/full-disk',
  'life/missed',
  'life/opened-ahead',
].map((name) => `${name}.slow.test.ts`);

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification): boolean => LONG.some((name) => moduleId.endsWith(name));
    const sorted = await super.sort(files);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

/** The tests' temporary files are in memory: a disk that stalls refuses deliveries and outlasts a stop. */
const MEMORY = '/dev/shm';
const NEEDED_BYTES = 4e9;

function hasRoom(folder: string): boolean {
  if (!existsSync(folder)) return false;
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize > NEEDED_BYTES;
}

if (hasRoom(MEMORY)) process.env['TMPDIR'] ??= MEMORY;

/** `npm test` is `unit`; `npm run test:full` is `slow`: whole processes, the browser, the package, other programs. */
export default defineConfig({
  test: {
    sequence: { sequencer: LongFirst },
    projects: [
      {
        test: {
          name: 'unit',
          expect,
          include: ['test/**/*.test.ts'],
          exclude: [SLOW],
          // The files of a thread share its modules: loading them takes longer than most tests.
          pool: 'threads',
          isolate: false,
          // Some files wait more than they compute.
          maxWorkers: Math.ceil(1.5 * availableParallelism()),
          // Longer than what waits inside a test, whose message says for what.
          testTimeout: 150_000,
          hookTimeout: 150_000,
          // Some CI environments ask for colours; what the tests read has none.
          env: { NO_COLOR: '1' },
        },
      },
      {
        test: {
          name: 'slow',
          expect,
          include: [SLOW],
          // They mostly wait for other processes: more of them than cores.
          maxWorkers: 4,
          sequence: { groupOrder: 1 },
          testTimeout: 300_000,
          // Packing and installing uses the network.
          hookTimeout: 300_000,
        },
      },
    ],
  },
});
