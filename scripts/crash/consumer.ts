/** Follows the change feed by SQL through every kill, with the consumer of the simulation. */
import { existsSync } from 'node:fs';
import Database from 'better-sqlite3';
import { Consumer } from '../../test/simulation/watch/consumer.ts';

const POLL_MS = 40;

export class CrashConsumer {
  readonly problems: string[] = [];
  readonly #path: string;
  readonly #consumer = new Consumer((problem) => this.problems.push(problem));
  #timer: NodeJS.Timeout | null = null;

  constructor(path: string) {
    this.#path = path;
  }

  /** Rows of the feed. */
  get seen(): number {
    return this.#consumer.seen;
  }

  start(): void {
    this.#timer ??= setInterval(() => this.#poll(), POLL_MS);
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  finish(): void {
    this.stop();
    const db = new Database(this.#path, { readonly: true });
    this.#consumer.finish(db);
    db.close();
    if (this.#consumer.epochs > 1) this.problems.push('the epoch changed');
  }

  #poll(): void {
    if (!existsSync(this.#path)) return;
    let db: Database.Database | null = null;
    try {
      db = new Database(this.#path, { readonly: true, timeout: 200 });
      this.#consumer.poll(db, Number.MAX_SAFE_INTEGER);
    } catch (error) {
      // A killed process may leave a file without views, and the next one locks it during recovery.
      if (!/no such table|unable to open|locked|busy/.test(String(error)))
        this.problems.push(`the consumer cannot read: ${String(error)}`);
    } finally {
      db?.close();
    }
  }
}
