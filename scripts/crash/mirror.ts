/** The mirror as a process that can be killed at any time. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { environmentFor } from '../../test/process/harness.ts';

const SRC = join(import.meta.dirname, '../../src');

interface Addresses {
  /** A mirror that runs alone receives no webhooks. */
  readonly webhooks?: string;
  readonly ops: string;
}

export type Role = 'both' | 'receiver' | 'mirror';

export interface Mirror {
  /** Rejects if the process ends before it listens. */
  readonly listening: Promise<Addresses>;
  /** Why it ended without a signal; null: it did not. */
  readonly failure: string | null;
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null>;
}

function environmentOf(sandbox: Sandbox, databasePath: string, role: Role = 'both'): NodeJS.ProcessEnv {
  return {
    PATH: process.env['PATH'],
    ...environmentFor(sandbox, databasePath),
    ROLE: role,
    SERVICE_MAX_RPS: '300',
    LOG_LEVEL: 'info',
  };
}

/** Its log is next to the database. @param role the whole mirror, or one half of it. */
export function startMirror(sandbox: Sandbox, databasePath: string, role: Role = 'both'): Mirror {
  const child = spawn(process.execPath, [join(SRC, 'main.ts')], {
    cwd: dirname(databasePath),
    env: environmentOf(sandbox, databasePath, role),
    stdio: ['ignore', 'pipe', 'pipe'],
    // Ctrl-C goes to the runner, which ends its mirror.
    detached: true,
  });
  const killWithParent = (): void => void child.kill('SIGKILL');
  process.once('exit', killWithParent);
  let isAsked = false;
  let failure: string | null = null;
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const listening = Promise.withResolvers<Addresses>();
  listening.promise.catch(() => undefined);
  const ended = once(child, 'close').then((event) => {
    const code = event[0] as number | null;
    process.off('exit', killWithParent);
    const how = `${role === 'both' ? 'the mirror' : `the ${role}`} ended with exit code ${code}: ${errors}`;
    if (!isAsked) failure = how;
    listening.reject(new Error(how));
    return code;
  });
  createInterface({ input: child.stdout }).on('line', (line) => {
    appendFileSync(`${databasePath}.${role}.jsonl`, `${line}\n`);
    if (line.includes('"kind":"listening"')) listening.resolve(JSON.parse(line) as Addresses);
  });
  return {
    listening: listening.promise,
    get failure() {
      return failure;
    },
    end(signal) {
      isAsked = true;
      child.kill(signal);
      return ended;
    },
  };
}

/** Runs `stock-mirror verify` against the running mirror. @returns its output, or null if both sides are equal. */
export async function verify(sandbox: Sandbox, databasePath: string): Promise<string | null> {
  const child = spawn(process.execPath, [join(SRC, 'cli.ts'), 'verify'], {
    cwd: dirname(databasePath),
    env: environmentOf(sandbox, databasePath),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return code === 0 ? null : `verify ended with exit code ${code}: ${output}`;
}
