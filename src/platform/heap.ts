import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** By then, a thread has loaded its modules. */
const LOADED_MS = 5_000;

/**
 * Limits how far each thread's heap grows between two collections; V8's default is several times the live size. The young
 * generation of the main thread is three times `--max-semi-space-size` (package.json, deploy); with `ROLE=receiver` the
 * main thread receives, and has more of it. The others have a limit in thread.ts, which that option would
 * overrule.
 */
export function keepHeapsSmall(): void {
  setFlagsFromString('--max-semi-space-size=0');
  setFlagsFromString('--heap-growing-percent=25');
}

/** For each thread: frees what loading its modules has left, 20 MB in all. V8 would keep it while little is allocated. */
export function collectOnceLoaded(): void {
  setTimeout(() => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    collect();
  }, LOADED_MS).unref();
}
