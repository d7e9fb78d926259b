/** The `stock-mirror` command: a file per verb in cli/, listed here. */
import './node-version.ts';
import { backupCommand } from './cli/backup.ts';
import { demoCommand } from './cli/demo.ts';
import { doctorCommand } from './cli/doctor.ts';
import { exportCommand } from './cli/export.ts';
import { outliveOutput } from './cli/output.ts';
import { createProgram } from './cli/program.ts';
import { pruneCommand } from './cli/prune.ts';
import { resyncCommand } from './cli/resync.ts';
import { runProgram } from './cli/run.ts';
import { sandboxCommand } from './cli/sandbox.ts';
import { sendCommand } from './cli/send.ts';
import { serveCommand } from './cli/serve.ts';
import { statusCommand } from './cli/status.ts';
import { verifyCommand } from './cli/verify.ts';

outliveOutput();
const program = createProgram([
  serveCommand(),
  resyncCommand(),
  verifyCommand(),
  statusCommand(),
  doctorCommand(),
  exportCommand(),
  backupCommand(),
  pruneCommand(),
  sendCommand(),
  sandboxCommand(),
  demoCommand(),
]);

const exitCode = await runProgram(program, process.argv.slice(2));
// Set, not called: process.exit() would lose output that is still on its way to a pipe.
if (exitCode !== undefined) process.exitCode = exitCode;
