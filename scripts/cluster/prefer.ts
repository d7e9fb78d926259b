/** On one machine the nine processes share two cores: who answers comes before who applies, as with machines of their own. */
import { setPriority } from 'node:os';

/** @param pid undefined: it could not be started. */
export function prefer(pid: number | undefined, priority: number): void {
  if (pid === undefined) return;
  try {
    setPriority(pid, priority);
  } catch {
    // Only root may have more than others.
  }
}
