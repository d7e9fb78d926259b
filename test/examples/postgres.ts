/** A PostgreSQL server of the test's own, in a temporary folder, reached by a socket in it. */
import { execFile, spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { watch, type RunningCommand } from '../cli/harness.ts';
import { eventually, type Owner } from '../process/harness.ts';

/** Where Debian's package puts its programs; null: it is not installed. */
const initdb = globSync('/usr/lib/postgresql/*/bin/initdb').sort().at(-1) ?? null;
export const isInstalled = initdb !== null;

/** kill -9; resolves when it has ended. */
export async function kill(command: RunningCommand): Promise<void> {
  command.signal('SIGKILL');
  await command.ended;
}

/** With the tables of examples/to-postgres. */
export async function startPostgres(test: Owner): Promise<Postgres> {
  const postgres = new Postgres(test);
  await postgres.start();
  await postgres.run(join(import.meta.dirname, '../../examples/to-postgres/schema.sql'));
  return postgres;
}

export class Postgres {
  readonly url: string;
  readonly #folder = mkdtempSync(join(tmpdir(), 'stock-mirror-pg-'));
  readonly #data = join(this.#folder, 'data');
  readonly #bin = dirname(initdb ?? '');
  /** It refuses to run as root. */
  readonly #user: { uid?: number } = {};
  #server: RunningCommand | null = null;

  constructor(test: Owner) {
    if (process.getuid?.() === 0) {
      this.#user.uid = Number(spawnSync('id', ['-u', 'postgres'], { encoding: 'utf8' }).stdout);
      chmodSync(this.#folder, 0o755);
      chownSync(this.#folder, this.#user.uid, 0);
    }
    this.url = `postgresql://postgres@/postgres?host=${this.#folder}`;
    test.onTestFinished(async () => {
      await this.kill();
      rmSync(this.#folder, { recursive: true, force: true, maxRetries: 10 });
    });
    const args = ['-D', this.#data, '-U', 'postgres', '-A', 'trust', '--no-sync'];
    const { status, stderr } = spawnSync(join(this.#bin, 'initdb'), args, {
      ...this.#user,
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(`initdb failed: ${stderr}`);
  }

  /** After a kill it refuses to start until the last process of the killed server has noticed. */
  async start(): Promise<void> {
    const isAnswering = async (): Promise<boolean> => {
      if (this.#server === null) {
        const args = ['-D', this.#data, '-k', this.#folder, '-c', 'listen_addresses='];
        this.#server = watch(spawn(join(this.#bin, 'postgres'), args, this.#user));
        void this.#server.ended.then(() => (this.#server = null));
      }
      return (await this.query('SELECT 1')).length === 1;
    };
    await eventually(isAnswering, { what: 'PostgreSQL answers' });
  }

  async kill(): Promise<void> {
    if (this.#server !== null) await kill(this.#server);
  }

  /** Runs a file as the README does. */
  async run(path: string): Promise<void> {
    await promisify(execFile)(join(this.#bin, 'psql'), ['-v', 'ON_ERROR_STOP=1', '-f', path, this.url]);
  }

  async connect(): Promise<pg.Client> {
    const client = new pg.Client(this.url);
    client.on('error', () => undefined);
    await client.connect();
    return client;
  }

  async query<T extends pg.QueryResultRow>(sql: string): Promise<T[]> {
    const client = await this.connect();
    try {
      return (await client.query<T>(sql)).rows;
    } finally {
      await client.end();
    }
  }
}
