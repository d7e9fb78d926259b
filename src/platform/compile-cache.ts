/**
 * Compiled code, and TypeScript without its types, kept from one start to the next. In the home of the user that the
 * process runs as, whatever HOME says: code from a folder that another user can write to, as Node's own choice in /tmp,
 * would run with this user's rights. Where it cannot be written nothing is kept. It is loaded by Nodes that are too old
 * for the rest (bin.ts).
 */
import module from 'node:module';
import { userInfo } from 'node:os';
import { join } from 'node:path';

/** To be called before the rest is loaded, which therefore must be loaded by `import()`. */
export function keepCompiled(): void {
  try {
    // By the environment, which is how the threads know of it too.
    process.env.NODE_COMPILE_CACHE ??= join(userInfo().homedir, '.cache', 'stock-mirror');
    module.enableCompileCache();
  } catch {
    // A user without a home, as in a container.
  }
}
