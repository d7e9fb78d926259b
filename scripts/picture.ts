/**
 * `npm run picture`: runs the demo on a terminal and draws what that shows in the end as docs/demo.svg, the picture of
 * README. Needs util-linux's `script`, which lends the demo a terminal.
 */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { finalScreen } from './picture/final-screen.ts';
import { terminalSvg } from './picture/terminal-svg.ts';

const root = join(import.meta.dirname, '..');
const seconds = 40;

const { status, stdout, error } = spawnSync(
  'script',
  ['-qec', `stty columns 200; "${process.execPath}" src/cli.ts demo --seconds ${seconds}`, '/dev/null'],
  { cwd: root, encoding: 'utf8', env: { ...process.env, TERM: 'xterm' } },
);
if (error !== undefined) throw error;
if (status !== 0) {
  process.stderr.write(`${stdout}\nerror: the demo ended with ${status}; the picture stays as it was\n`);
  process.exit(1);
}
const lines = finalScreen(stdout);
writeFileSync(join(root, 'docs/demo.svg'), terminalSvg(lines, `npm run demo -- --seconds ${seconds}`));
process.stdout.write(`docs/demo.svg: ${lines.length} lines\n`);
