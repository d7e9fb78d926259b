/** An operator's request does not wait for as long as another program holds the mirror's lock. */
import { StoreError } from '../../sqlite/errors.ts';
import type { StoreWriter } from '../../mirror/writer/store-writer.ts';

/** Longer than any of them takes while the tables can be written. */
const LOOK_EVERY_MS = 5_000;

/**
 * The result of the work, unless the tables cannot be written: then the reason, and the work is done later.
 *
 * @throws StoreError
 */
export async function unlessStuck<T>(work: Promise<T>, writer: Pick<StoreWriter, 'stuck'>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const reason = new Promise<never>((_, reject) => {
    timer = setInterval(() => {
      if (writer.stuck === null) return;
      const { kind, message } = writer.stuck;
      reject(new StoreError(kind, `the request was taken, and is carried out once this is over: ${message}`));
    }, LOOK_EVERY_MS);
  });
  try {
    return await Promise.race([work, reason]);
  } finally {
    clearInterval(timer);
    // Whoever is told the reason does not learn how it ends.
    work.catch(() => undefined);
  }
}
