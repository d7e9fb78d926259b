/** examples/to-postgres, as a process that a test kills. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { watch, type RunningCommand } from '../cli/harness.ts';
import { exampleCopy } from '../examples/example-copy.ts';
import { kill, type Postgres } from '../examples/postgres.ts';
import type { Owner } from '../process/harness.ts';
import { SELLABLE, type Follower, type Place, type Shown } from './follower.ts';

export class PostgresCopy implements Follower {
  readonly name = 'to-postgres';
  readonly #postgres: Postgres;
  readonly #file: string;
  readonly #env: Readonly<Record<string, string>>;
  #run: RunningCommand | null = null;
  #said = '';
  /** Set if it ended by itself. */
  #ended = '';

  constructor(test: Owner, postgres: Postgres, { url }: Place) {
    this.#postgres = postgres;
    this.#file = join(exampleCopy(test, 'to-postgres'), 'follow.ts');
    this.#env = { STOCK_MIRROR_URL: url, DATABASE_URL: postgres.url };
    test.onTestFinished(() => this.kill());
  }

  start(): void {
    const run = watch(spawn(process.execPath, [this.#file], { env: this.#env }));
    this.#run = run;
    this.#ended = '';
    void run.ended.then(({ code, signal }) => {
      if (this.#run === run) this.#ended = `it ended: ${code ?? signal}`;
    });
  }

  async kill(): Promise<void> {
    if (this.#run === null) return;
    await kill(this.#run);
    this.#said += this.#run.stdout;
    this.#run = null;
  }

  get waits(): boolean {
    return this.problems.includes('not now');
  }

  get problems(): string {
    return (this.#run?.stderr ?? '') + this.#ended;
  }

  starts(): number {
    return (this.#said + (this.#run?.stdout ?? '')).match(/^starting over: /gm)?.length ?? 0;
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
