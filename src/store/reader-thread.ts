/** The reader's thread: answers questions on a connection that cannot write. */
import { parentPort, workerData } from 'node:worker_threads';
import { openReader } from './open.ts';
import { queries, type QueryName } from './queries/index.ts';
import type { Outcome } from './writer-thread.ts';

export interface ToReader {
  readonly id: number;
  /** Null: close. */
  readonly name: QueryName | null;
  readonly args: unknown;
}

function main(): void {
  const port = parentPort;
  if (port === null) throw new Error('reader-thread.ts runs as a worker only');
  const db = openReader((workerData as { path: string }).path);
  port.on('message', ({ id, name, args }: ToReader) => {
    let outcome: Outcome;
    try {
      if (name === null) db.close();
      const value =
        name === null ? null : (queries[name] as (db: unknown, args: unknown) => unknown)(db, args);
      outcome = { id, ok: true, value };
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      outcome = {
        id,
        ok: false,
        error: { kind: 'unreachable', message: `query ${name} failed: ${message}` },
      };
    }
    port.postMessage(outcome);
    if (name === null) port.close();
  });
}

main();
