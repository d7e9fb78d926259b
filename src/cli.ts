/** The `stock-mirror` command: a file per verb in cli/, listed here. */
import './node-version.ts';
import { createProgram } from './cli/program.ts';
import { runProgram } from './cli/run.ts';
import { sandboxCommand } from './cli/sandbox.ts';

const program = createProgram([sandboxCommand()]);

const exitCode = await runProgram(program, process.argv.slice(2));
// Set, not called: output that is still on its way to a pipe would be lost by process.exit().
if (exitCode !== undefined) process.exitCode = exitCode;
