/**
 * npm runs a script through a shell and hands its signals to that. A shell that has not given its place to the program,
 * as Debian's does not, dies of a SIGTERM and leaves the program behind: it takes the death for the signal.
 */
const LOOK_EVERY_MS = 200;

/** To be called by every entry; does nothing where npm has not started it. */
export function endWithNpmShell(): void {
  if (process.env['npm_lifecycle_event'] === undefined || process.platform === 'win32') return;
  const shell = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === shell) return;
    clearInterval(timer);
    process.kill(process.pid, 'SIGTERM');
  }, LOOK_EVERY_MS).unref();
}
