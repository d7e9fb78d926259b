/** The first step of every entry of the program. */
import module from 'node:module';
import { userInfo } from 'node:os';
import { join } from 'node:path';

const LOOK_EVERY_MS = 200;

/** To be called before the rest is loaded, which therefore must be loaded by `import()`. */
export function beginEntry(): void {
  keepCompiled();
  if (process.env['npm_lifecycle_event'] !== undefined && process.platform !== 'win32') endWithShell();
}

/**
 * Keeps compiled code, and TypeScript without its types, from one start to the next. In the home of the user that the
 * process runs as, whatever HOME says: code from a folder that another user can write to, as Node's own choice in /tmp,
 * would run with this user's rights. Where it cannot be written nothing is kept.
 */
function keepCompiled(): void {
  try {
    // By the environment, which the threads read too.
    process.env['NODE_COMPILE_CACHE'] ??= join(userInfo().homedir, '.cache', 'stock-mirror');
    module.enableCompileCache();
  } catch {
    // A user without a home, as in a container.
  }
}

/**
 * npm hands its signals to the shell that it runs a script with. A shell that has not given its place to the program, as
 * Debian's does not, dies of a SIGTERM and leaves the program behind: it takes the death for the signal.
 */
function endWithShell(): void {
  const shell = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === shell) return;
    clearInterval(timer);
    process.kill(process.pid, 'SIGTERM');
  }, LOOK_EVERY_MS).unref();
}
