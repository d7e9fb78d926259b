/**
 * `npm run rehearse`: upgrades of a receiver and a mirror that run as two processes, each alone, both, and
 * back to the version before; then a backup and a Litestream copy, each restored on another host. Webhooks
 * arrive all the time. Nothing that was answered may be lost, and after each step the mirror must equal the
 * store again. Takes two to four minutes.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { rehearse, type Step } from './rehearse/run.ts';

const USAGE = `npm run rehearse -- [--from FOLDER] [--to FOLDER] [--rate 20] [--products 200] [--litestream FILE]

  --from, --to  folders of two installed or built versions, such as node_modules/stock-mirror; by default this one, twice
  --rate        stock changes per second
  --litestream  the program; by default the installed one. Without it, its step is left out`;

const { values } = parseArgs({
  options: {
    from: { type: 'string' },
    to: { type: 'string' },
    rate: { type: 'string', default: '20' },
    products: { type: 'string', default: '200' },
    litestream: { type: 'string', default: 'litestream' },
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

function lineOf(step: Step): string {
  const { name, tookMs, sent, late, lost, notLiveMs, usuallyUntrusted, mostUntrusted, untrustedMs } = step;
  const webhooks = `${sent} webhooks, ${late} late, ${lost} lost`;
  const untrusted = `up to ${mostUntrusted} quantities not trusted, more than the usual ${usuallyUntrusted}`;
  const readers = `not live for ${notLiveMs} ms, ${untrusted} for ${untrustedMs} ms`;
  return `${name} (${tookMs} ms): ${webhooks}; readers: ${readers}`;
}

const hasLitestream = spawnSync(values.litestream, ['version']).status === 0;
if (!hasLitestream) console.log(`left out: a Litestream copy, because ${values.litestream} does not run`);
const problems = await rehearse({
  folder,
  from: resolve(values.from ?? here),
  to: resolve(values.to ?? here),
  rate: Number(values.rate),
  products: Number(values.products),
  litestream: hasLitestream ? values.litestream : undefined,
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
