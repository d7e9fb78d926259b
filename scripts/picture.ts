/**
 * `npm run picture`: runs the demo on a terminal and draws what it printed, shortened to its turning points, as
 * docs/demo.svg, the picture of README. Needs util-linux's `script`, which lends the demo a terminal.
 */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { turningPoints } from './picture/turning-points.ts';
import { terminalSvg } from './picture/terminal-svg.ts';

const root = join(import.meta.dirname, '..');
const seconds = 40;

const { status, stdout, error } = spawnSync(
  'script',
  ['-qec', `"${process.execPath}" src/cli.ts demo --seconds ${seconds}`, '/dev/null'],
  { cwd: root, encoding: 'utf8', env: { ...process.env, TERM: 'xterm', COLUMNS: '200' } },
);
if (error !== undefined) throw error;
if (status !== 0) {
  process.stderr.write(`${stdout}\nerror: the demo ended with ${status}; the picture stays as it was\n`);
  process.exit(1);
}
const lines = turningPoints(stdout.split(/\r?\n/));
writeFileSync(join(root, 'docs/demo.svg'), terminalSvg(lines, `npm run demo -- --seconds ${seconds}`));
process.stdout.write(`docs/demo.svg: ${lines.length} lines\n`);
