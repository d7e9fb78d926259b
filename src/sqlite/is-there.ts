import { statSync } from 'node:fs';
import { SqliteFault } from './errors.ts';
import { explained, systemCode } from './explain.ts';

/** Whether a file exists. @throws SqliteFault if this user may not know. */
export function isThere(path: string): boolean {
  try {
    statSync(path);
    return true;
  } catch (cause) {
    const code = systemCode(cause);
    if (code === 'ENOENT') return false;
    if (code !== 'EACCES') throw explained(path, cause);
    const remedy = 'run this as the user who runs the mirror, or as a member of its group';
    throw new SqliteFault('unreachable', `${path} cannot be reached (${code}): ${remedy}.`, { cause });
  }
}
