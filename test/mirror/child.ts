import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface, type Interface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

interface Child {
  readonly lines: Interface;
  nextLine(): Promise<string>;
  /** kill -9; resolves when it has ended and all it printed has been read. */
  kill(): Promise<void>;
}

export function run(fixture: string, ...args: readonly string[]): Child {
  const file = fileURLToPath(new URL(`fixtures/${fixture}`, import.meta.url));
  const process_: ChildProcess = spawn(process.execPath, [file, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(process_, 'close');
  onTestFinished(() => void process_.kill('SIGKILL'));
  if (process_.stdout === null) throw new Error('the child has no stdout');
  const lines = createInterface(process_.stdout);
  return {
    lines,
    async nextLine(): Promise<string> {
      const [line] = (await Promise.race([
        once(lines, 'line'),
        ended.then(() => Promise.reject(new Error(`${fixture} ended before it printed anything`))),
      ])) as [string];
      return line;
    },
    async kill(): Promise<void> {
      process_.kill('SIGKILL');
      await ended;
    },
  };
}
