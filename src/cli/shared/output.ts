import { EXIT } from './exit-codes.ts';

/** Lets a command finish although its output is closed or full. Call once, before anything is printed. */
export function outliveOutput(): void {
  let isLost = false;
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // A reader such as `head` has closed the pipe: no failure.
    if (error.code === 'EPIPE' || isLost) return;
    isLost = true;
    process.stderr.write(`error: the standard output cannot be written: ${error.message}\n`);
  });
  process.stderr.on('error', () => undefined);
  process.once('exit', (code) => {
    if (isLost && code === EXIT.done) process.exitCode = EXIT.failed;
  });
}
