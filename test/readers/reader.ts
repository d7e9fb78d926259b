import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { present } from '../shared/present.ts';
import { rows } from '../process/harness.ts';

const FOLDER = join(import.meta.dirname, '../../examples');

/** The command for each language, and a probe for what it needs. */
const LANGUAGES: Readonly<Record<string, { command: string; probe: readonly string[] }>> = {
  sh: { command: 'bash', probe: ['-c', 'sqlite3 --version'] },
  py: { command: 'python3', probe: ['-c', 'import sqlite3'] },
  mjs: { command: process.execPath, probe: ['--version'] },
  php: {
    command: 'php',
    probe: ['-r', `exit((int) !in_array('sqlite', PDO::getAvailableDrivers(), true));`],
  },
};

export const NAMES: readonly string[] = Object.keys(LANGUAGES).flatMap((extension) => [
  `poll-stock.${extension}`,
  `follow-changes.${extension}`,
]);

const languageOf = (name: string) => present(LANGUAGES[present(name.split('.')[1])]);

const installed = new Set(
  Object.values(LANGUAGES).filter(
    ({ command, probe }) => spawnSync(command, probe, { stdio: 'ignore' }).status === 0,
  ),
);

export const isInstalled = (name: string): boolean => installed.has(languageOf(name));

export const titleOf = (name: string, what: string): string =>
  `${name}: ${what}${isInstalled(name) ? '' : ' (skipped: its language is not installed here)'}`;

type Copy = { readonly epoch: string | null; readonly seq: number };

export class Reader {
  readonly name: string;
  readonly copyPath: string;
  readonly #mirrorPath: string;
  #child: ChildProcess | null = null;
  #said = '';
  stderr = '';

  constructor(name: string, mirrorPath: string, folder: string) {
    this.name = name;
    this.#mirrorPath = mirrorPath;
    this.copyPath = join(folder, `${name}.copy.db`);
  }

  start(): void {
    const { command } = languageOf(this.name);
    // A process group, so that a shell's children end too.
    const child = spawn(command, [join(FOLDER, this.name), this.#mirrorPath, this.copyPath], {
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.stdout.setEncoding('utf8').on('data', (text: string) => (this.#said += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    this.#child = child;
  }

  get isRunning(): boolean {
    return this.#child !== null && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  signal(name: NodeJS.Signals): void {
    if (this.isRunning) process.kill(-present(this.#child?.pid), name);
  }

  async kill(): Promise<void> {
    if (this.#child === null || !this.isRunning) return;
    const ended = once(this.#child, 'close');
    this.signal('SIGKILL');
    await ended;
  }

  get starts(): string[] {
    return [...this.#said.matchAll(/^starting over: epoch (\S+)$/gm)].map(([, epoch]) => present(epoch));
  }

  get position(): Copy {
    if (!existsSync(this.copyPath)) return { epoch: null, seq: 0 };
    return present(this.#copyRows<Copy>('SELECT epoch, seq FROM position')[0]);
  }

  compare(): { copy: unknown[]; mirror: unknown[] } {
    const columns = this.#copyRows<{ name: string }>(`SELECT name FROM pragma_table_info('stock')`)
      .map(({ name }) => name)
      .join(', ');
    return {
      copy: this.#copyRows(`SELECT ${columns} FROM stock ORDER BY variant_id, warehouse_id`),
      mirror: rows(this.#mirrorPath, `SELECT ${columns} FROM mirror_stock ORDER BY variant_id, warehouse_id`),
    };
  }

  /** Not read-only: a killed reader may leave a journal to roll back. */
  #copyRows<T>(sql: string): T[] {
    const db = new Database(this.copyPath, { fileMustExist: true });
    try {
      return db.prepare<[], T>(sql).all();
    } finally {
      db.close();
    }
  }
}
