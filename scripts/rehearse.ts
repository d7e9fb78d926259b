/**
 * `npm run rehearse`: upgrades of a receiver and a mirror that run as two processes, each alone, both, and back to the version
 * before, and a backup restored on another host. Webhooks arrive all the time. Nothing that was answered may be lost, and
 * each time the mirror must equal the store again.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { rehearse, type Step } from './rehearse/run.ts';

const USAGE = `npm run rehearse -- [--from FOLDER] [--to FOLDER] [--rate 20] [--products 200]

  --from, --to  folders of two installed or built versions, such as node_modules/stock-mirror; by default this one, twice
  --rate        stock changes per second`;

const { values } = parseArgs({
  options: {
    from: { type: 'string' },
    to: { type: 'string' },
    rate: { type: 'string', default: '20' },
    products: { type: 'string', default: '200' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(USAGE);
  process.exit(0);
}
const here = join(import.meta.dirname, '..');
if (values.from === undefined || values.to === undefined) {
  execFileSync(process.execPath, [join(import.meta.dirname, 'build.ts')], { stdio: 'inherit' });
}
const folder = mkdtempSync(join(tmpdir(), 'stock-mirror-rehearsal-'));
process.once('SIGINT', () => process.exit(130));
process.once('SIGTERM', () => process.exit(143));

function lineOf({ name, sent, late, lost, notLiveMs, mostSuspect, suspectMs }: Step): string {
  const webhooks = `${sent} webhooks, ${late} late, ${lost} lost`;
  const readers = `not live for ${notLiveMs} ms, up to ${mostSuspect} rows suspect for ${suspectMs} ms`;
  return `${name}: ${webhooks}; readers: ${readers}`;
}

const problems = await rehearse({
  folder,
  from: resolve(values.from ?? here),
  to: resolve(values.to ?? here),
  rate: Number(values.rate),
  products: Number(values.products),
  onStep: (step) => console.log(lineOf(step)),
});
if (problems.length === 0) {
  console.log('nothing that was answered is lost, and the mirror equals the store');
  rmSync(folder, { recursive: true, force: true });
} else {
  for (const problem of problems.slice(0, 20)) console.log(`  ${problem}`);
  console.log(`FAILED, ${problems.length} problems; the files are in ${folder}`);
  process.exitCode = 1;
}
