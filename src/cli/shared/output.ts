/**
 * The stream that a command prints to may be closed or full before the command ends. Its work continues all the same.
 */
import { EXIT } from './exit-codes.ts';

/** To be called once, before anything is printed. */
export function outliveOutput(): void {
  let isLost = false;
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // The reader has what it wanted, as `head` does: that is no failure.
    if (error.code === 'EPIPE' || isLost) return;
    isLost = true;
    process.stderr.write(`error: the standard output cannot be written: ${error.message}\n`);
  });
  // There is nowhere left to report this.
  process.stderr.on('error', () => undefined);
  process.once('exit', (code) => {
    if (isLost && code === EXIT.done) process.exitCode = EXIT.failed;
  });
}
