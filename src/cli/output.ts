/** What a command prints on may be closed or full before it ends: its work goes on all the same. */
import { EXIT } from './exit-codes.ts';

/** To be called once, before anything is printed. */
export function outliveOutput(): void {
  let isLost = false;
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // Who reads has what it wanted, as `head` does: that is no failure.
    if (error.code === 'EPIPE' || isLost) return;
    isLost = true;
    process.stderr.write(`error: the standard output cannot be written: ${error.message}\n`);
  });
  // There is nobody left to tell.
  process.stderr.on('error', () => undefined);
  process.once('exit', (code) => {
    if (isLost && code === EXIT.done) process.exitCode = EXIT.failed;
  });
}
