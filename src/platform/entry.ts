import module from 'node:module';
import { userInfo } from 'node:os';
import { join } from 'node:path';

const LOOK_EVERY_MS = 200;

/** Call it before loading the rest, which therefore must be loaded by `import()`. */
export function beginEntry(): void {
  ignoreSignals();
  keepCompiled();
  if (process.env['npm_lifecycle_event'] !== undefined && process.platform !== 'win32') endWithShell();
}

/**
 * Node would open its inspector on SIGUSR1, where every user of the machine could run code in this process, and end on
 * SIGUSR2. An installed command gets no options of Node, such as `--disable-sigusr1`.
 */
function ignoreSignals(): void {
  for (const signal of ['SIGUSR1', 'SIGUSR2']) process.on(signal, () => undefined);
}

/**
 * Caches compiled code in the home of the process's user, regardless of HOME: code in a folder that others can write
 * to, such as Node's default in /tmp, would run with this user's rights.
 */
function keepCompiled(): void {
  try {
    // In the environment, because the threads read it too.
    process.env['NODE_COMPILE_CACHE'] ??= join(userInfo().homedir, '.cache', 'stock-mirror');
    module.enableCompileCache();
  } catch {
    // A user without a home, as in a container.
  }
}

/**
 * npm signals only the shell that runs the script, and Debian's dies of a SIGTERM without passing it on. Treats the
 * shell's death as the signal.
 */
function endWithShell(): void {
  const shell = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === shell) return;
    clearInterval(timer);
    process.kill(process.pid, 'SIGTERM');
  }, LOOK_EVERY_MS).unref();
}
