/** `npm run bench`: throughput and latency of the mirror, measured from outside its process. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Row } from './bench/question.ts';
import { QUESTIONS } from './bench/questions.ts';

const USAGE = `npm run bench -- [--only a,b] [--quick]

${Object.entries(QUESTIONS)
  .map(([name, { title }]) => `  ${name}  ${title}`)
  .join('\n')}

  --only   these questions alone
  --quick  shorter runs and smaller catalogues; without it, d reads a million products

Exit codes: 0 measured, 1 a ratio is far from its target or a measurement failed, 2 wrong usage.`;

function usageError(text: string): never {
  console.error(`error: ${text}\n\n${USAGE}`);
  process.exit(2);
}

function options() {
  try {
    return parseArgs({
      options: {
        only: { type: 'string', default: Object.keys(QUESTIONS).join(',') },
        quick: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    return usageError((error as Error).message);
  }
}

const { only, quick, help } = options();
if (help) {
  console.log(USAGE);
  process.exit(0);
}
const questions = only
  .split(',')
  .map((name) => [name, QUESTIONS[name] ?? usageError(`there is no question ${name}`)] as const);

execFileSync(process.execPath, [join(import.meta.dirname, 'build.ts')], { stdio: 'inherit' });
const folder = mkdtempSync(join(tmpdir(), 'stock-mirror-bench-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
process.once('SIGINT', () => process.exit(130));
process.once('SIGTERM', () => process.exit(143));

const rows = new Map<string, Row>();
for (const [name, { title, ask }] of questions) {
  console.error(title);
  try {
    rows.set(name, await ask({ quick, folder }));
  } catch (error) {
    console.error(error);
    process.exitCode = 1;
  }
}

const machine = `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, Node ${process.version}${quick ? ', quick' : ''}`;
console.log(`\n${machine}\n`);
for (const [name, { what, result, target, met }] of rows)
  console.log(`${name}  ${what}\n   ${result}   (${target}: ${met ? 'met' : 'MISSED'})`);
if ([...rows.values()].some(({ fails }) => fails)) process.exitCode = 1;
