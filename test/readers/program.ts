/** One of the programs of examples/copy-stock, as a process that a test kills. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { RunningCommand } from '../cli/harness.ts';
import { exampleCopy } from '../examples/example-copy.ts';
import { temporaryFolder, type Owner } from '../process/harness.ts';
import { SELLABLE, type Follower, type Place, type Shown } from './follower.ts';
import { Spawned } from './spawned.ts';

interface Language {
  readonly command: string;
  readonly probe: readonly string[];
  /** It reads the mirror's file; the others its HTTP API. */
  readonly readsFile?: true;
}

const LANGUAGES = {
  sh: { command: 'bash', probe: ['-c', 'sqlite3 --version'], readsFile: true },
  py: { command: 'python3', probe: ['-c', 'import sqlite3'] },
  ts: { command: process.execPath, probe: ['--version'] },
  php: {
    command: 'php',
    probe: ['-r', `exit((int) !in_array('sqlite', PDO::getAvailableDrivers(), true));`],
  },
} as const satisfies Record<string, Language>;

type Extension = keyof typeof LANGUAGES;
export const EXTENSIONS = Object.keys(LANGUAGES) as Extension[];

export const isInstalled = (extension: Extension): boolean => {
  const { command, probe } = LANGUAGES[extension];
  return spawnSync(command, probe, { stdio: 'ignore' }).status === 0;
};

export class Program extends Spawned implements Follower {
  readonly name: string;
  readonly #command: readonly [string, ...string[]];
  readonly #env: Readonly<Record<string, string>>;
  readonly #copyPath: string;

  constructor(test: Owner, extension: Extension, { url, path }: Place) {
    super();
    const language: Language = LANGUAGES[extension];
    this.name = `copy-stock.${extension}`;
    this.#copyPath = join(temporaryFolder(test), 'a copy.db');
    this.#command = [
      language.command,
      join(exampleCopy(test, 'copy-stock'), this.name),
      ...(language.readsFile === true ? [path] : []),
      this.#copyPath,
    ];
    // No program may ask a proxy for this machine.
    const http_proxy = 'http://127.0.0.1:9';
    this.#env = { PATH: process.env['PATH'] ?? '', STOCK_MIRROR_URL: `${url}/`, http_proxy };
    test.onTestFinished(() => this.kill());
  }

  protected override spawn(): ChildProcess {
    const [command, ...args] = this.#command;
    // A process group, so that a shell's children end too.
    return spawn(command, args, { detached: true, env: this.#env });
  }

  protected override signalKill({ pid }: RunningCommand): void {
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
  }

  sellable(): Shown[] {
    if (!existsSync(this.#copyPath)) return [];
    return this.#withCopy((copy) => copy.prepare<[], Shown>(`SELECT ${SELLABLE} FROM sellable`).all());
  }

  seq(): number {
    return this.#withCopy((copy) => copy.prepare<[], number>('SELECT seq FROM position').pluck().get() ?? 0);
  }

  moveAhead(): void {
    this.#withCopy((copy) => copy.exec('UPDATE position SET seq = seq + 1000000000'));
  }

  age = (): void => {
    this.#withCopy((copy) => copy.exec('UPDATE position SET confirmed_at = confirmed_at - 120'));
  };

  /** Not read-only: a killed program may leave a journal to roll back. */
  #withCopy<T>(use: (copy: Database.Database) => T): T {
    const copy = new Database(this.#copyPath, { fileMustExist: true });
    try {
      return use(copy);
    } finally {
      copy.close();
    }
  }
}
