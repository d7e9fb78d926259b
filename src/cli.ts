import { createProgram } from './cli/program.ts';
import { tolerateClosedOutput, runProgram } from './cli/run.ts';
import { commandsFor } from './cli/verbs.ts';
import { beginEntry } from './platform/entry.ts';

beginEntry();
tolerateClosedOutput();
const args = process.argv.slice(2);
const exitCode = await runProgram(createProgram(await commandsFor(args)), args);
// Set, not called: process.exit() would lose output that is still on its way to a pipe.
if (exitCode !== undefined) process.exitCode = exitCode;
