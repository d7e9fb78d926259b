/** A receiver or a mirror as its unit runs it: started again whenever it ends, the receiver's socket kept open. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

const HOLDER = join(import.meta.dirname, '../proxies/holder.ts');
/** The values of the units. */
const RESTART_AFTER_MS = { receiver: 100, mirror: 1_000 } as const;
const WITHIN_MS = 60_000;

export interface HalfOptions {
  readonly role: 'receiver' | 'mirror';
  /** A path that leads to the installed version; read at each start. */
  readonly program: string;
  /** The port of the public listener. */
  readonly port: number;
  readonly env: Readonly<Record<string, string>>;
  readonly logPath: string;
}

export class Half {
  readonly #holder: ChildProcess;
  /** The process that runs, and how many starts have listened. */
  #pid = 0;
  #listened = 0;

  constructor({ role, program, port, env, logPath }: HalfOptions) {
    const socket = role === 'receiver' ? 'keep' : 'close';
    const args = [HOLDER, String(port), socket, String(RESTART_AFTER_MS[role]), program, 'serve'];
    this.#holder = spawn(process.execPath, args, {
      env: { PATH: process.env['PATH'], ...env, ROLE: role },
      stdio: ['ignore', 'pipe', 'inherit'],
      // Ctrl-C goes to the runner, which ends it.
      detached: true,
    });
    const log = createWriteStream(logPath, { flags: 'a' });
    if (this.#holder.stdout === null) throw new Error('the holder has no output');
    createInterface({ input: this.#holder.stdout }).on('line', (line) => {
      log.write(`${line}\n`);
      const started = /^started (\d+)$/.exec(line)?.[1];
      if (started !== undefined) this.#pid = Number(started);
      if (line.includes('"kind":"listening"')) this.#listened += 1;
    });
    process.once('exit', () => this.#killAll());
  }

  /** @returns once the process listens that was started after `act`. */
  async untilStarted(act: () => void = () => undefined, listened = 0): Promise<void> {
    act();
    const deadlineMs = performance.now() + WITHIN_MS;
    while (this.#listened <= listened) {
      if (performance.now() > deadlineMs || this.#holder.exitCode !== null) {
        throw new Error('a half does not start: see its log');
      }
      await sleep(50);
    }
  }

  /** Restarts the process as `systemctl restart` does. */
  async restart(): Promise<void> {
    await this.untilStarted(() => process.kill(this.#pid, 'SIGTERM'), this.#listened);
  }

  async end(): Promise<void> {
    const closed = once(this.#holder, 'close');
    this.#killAll();
    await closed;
  }

  /** The holder first, so that it starts no other process. */
  #killAll(): void {
    for (const pid of [this.#holder.pid, this.#pid]) {
      try {
        if (pid !== undefined && pid !== 0) process.kill(pid, 'SIGKILL');
      } catch {
        // It has ended already.
      }
    }
  }
}
