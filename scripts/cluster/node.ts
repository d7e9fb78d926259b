/** A receiver or a replica as a process of its own, which may be killed, stopped and started again. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { prefer } from './prefer.ts';
import { createWriteStream, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openWay, type Way } from '../../test/replication/way.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

interface NodeOptions {
  readonly name: string;
  readonly folder: string;
  readonly roles: string;
  readonly port: number;
  readonly opsPort: number;
  readonly env: Readonly<Record<string, string>>;
  /** To the servers of the engine, on these ports, in ways of its own. */
  readonly enginePorts: readonly number[];
  /** As of `os.setPriority`, where that may be set. */
  readonly priority: number;
}

export class ClusterNode {
  readonly name: string;
  readonly databasePath: string;
  readonly port: number;
  readonly opsPort: number;
  readonly #options: NodeOptions;
  readonly #ways: readonly Way[];
  #process: ChildProcess | null = null;
  #isAsked = false;
  /** Why it ended without having been asked to; null while that has not happened. */
  failure: string | null = null;

  private constructor(options: NodeOptions, ways: readonly Way[]) {
    this.#options = options;
    this.#ways = ways;
    this.name = options.name;
    this.port = options.port;
    this.opsPort = options.opsPort;
    mkdirSync(join(options.folder, options.name), { recursive: true });
    this.databasePath = join(options.folder, options.name, 'mirror.db');
  }

  static async prepare(options: NodeOptions): Promise<ClusterNode> {
    return new ClusterNode(options, await Promise.all(options.enginePorts.map((port) => openWay(port))));
  }

  get pid(): number | null {
    return this.#process?.pid ?? null;
  }

  start(): void {
    const { env, roles, port, opsPort, folder, name, priority } = this.#options;
    const child = spawn(process.execPath, ['--max-semi-space-size=16', MAIN], {
      cwd: join(folder, name),
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: process.env['PATH'] ?? '',
        ...env,
        LOG_URL: this.#ways.map((way) => `nats://127.0.0.1:${way.port}`).join(','),
        ROLE: roles,
        DATABASE_PATH: this.databasePath,
        PORT: String(port),
        OPS_PORT: String(opsPort),
      },
    });
    this.#process = child;
    prefer(child.pid, priority);
    this.#isAsked = false;
    const lines = createWriteStream(join(folder, `${name}.jsonl`), { flags: 'a' });
    child.stdout.pipe(lines, { end: false });
    child.stderr.pipe(lines, { end: false });
    child.once('exit', (code, signal) => {
      if (!this.#isAsked) this.failure = `${name} ended by itself (${signal ?? `exit code ${code}`})`;
      if (this.#process === child) this.#process = null;
    });
  }

  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const child = this.#process;
    if (child === null) return;
    this.#isAsked = true;
    const ended = once(child, 'exit');
    child.kill('SIGCONT');
    child.kill(signal);
    await ended;
    this.#process = null;
  }

  /** From the engine: what is sent goes nowhere, and no connection ends. */
  cutOff(): void {
    for (const way of this.#ways) way.swallow();
  }

  reconnect(): void {
    for (const [i, way] of this.#ways.entries()) way.lead(this.#options.enginePorts[i] ?? 0);
  }

  close(): void {
    for (const way of this.#ways) way.close();
  }

  freeze(): void {
    this.#process?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#process?.kill('SIGCONT');
  }

  /** @returns null when it does not answer. */
  async ask(path: string): Promise<unknown> {
    try {
      const response = await fetch(`http://127.0.0.1:${this.opsPort}${path}`, {
        signal: AbortSignal.timeout(2_000),
      });
      return await response.json();
    } catch {
      return null;
    }
  }
}
