/** examples/to-postgres, as a process that a test kills. */
import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { exampleCopy } from '../examples/example-copy.ts';
import type { Postgres } from '../examples/postgres.ts';
import type { Owner } from '../process/harness.ts';
import { SELLABLE, type Follower, type Place, type Shown } from './follower.ts';
import { Spawned } from './spawned.ts';

export class PostgresCopy extends Spawned implements Follower {
  readonly name = 'to-postgres';
  readonly #postgres: Postgres;
  readonly #file: string;
  readonly #env: Readonly<Record<string, string>>;

  constructor(test: Owner, postgres: Postgres, { url }: Place) {
    super();
    this.#postgres = postgres;
    this.#file = join(exampleCopy(test, 'to-postgres'), 'follow.ts');
    this.#env = { STOCK_MIRROR_URL: url, DATABASE_URL: postgres.url };
    test.onTestFinished(() => this.kill());
  }

  protected override spawn(): ChildProcess {
    return spawn(process.execPath, [this.#file], { env: this.#env });
  }

  sellable(): Promise<Shown[]> {
    return this.#postgres.query<Shown & Record<string, unknown>>(`SELECT ${SELLABLE} FROM sellable`);
  }

  async seq(): Promise<number> {
    const [position] = await this.#postgres.query<{ seq: string }>('SELECT seq FROM stock_position');
    return Number(position?.seq);
  }

  async moveAhead(): Promise<void> {
    await this.#postgres.query('UPDATE stock_position SET seq = seq + 1000000000');
  }

  age = async (): Promise<void> => {
    await this.#postgres.query(
      `UPDATE stock_position SET confirmed_at = confirmed_at - interval '2 minutes'`,
    );
  };
}
