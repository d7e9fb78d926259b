/** A copy as a process of its own, beside the mirror that it follows. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { eventLogPath } from '../../src/event-log/open-log.ts';
import type { Environment, Owner } from './harness.ts';

const CLI = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));

interface Command {
  readonly pid: number | undefined;
  /** What it has written so far. */
  readonly text: string;
  readonly ended: Promise<number | null>;
  /** Resolves with its exit code. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

interface CommandArgs {
  readonly args: readonly string[];
  /** The whole environment but for PATH. */
  readonly env?: Environment;
  /** A folder without a `.env` of anybody's. */
  readonly cwd: string;
}

/** `stock-mirror` as a process of its own, which ends with the test. */
export function startCommand(owner: Owner, { args, env = {}, cwd }: CommandArgs): Command {
  const child = spawn(process.execPath, [CLI, ...args], {
    cwd,
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (more: string) => (text += more));
  const ended = once(child, 'close').then(([code]) => code as number | null);
  owner.onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return {
    pid: child.pid,
    get text() {
      return text;
    },
    ended,
    end: async (signal) => {
      child.kill(signal);
      return ended;
    },
  };
}

/** A port of 127.0.0.1 on which nothing listens. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** Up to where a mirror has its entries, in its log and in its tables. */
export function positionIn(path: string): { readonly applied: number; readonly logged: number } {
  const db = new Database(path, { readonly: true, fileMustExist: true });
  try {
    db.prepare('ATTACH ? AS event_log').run(eventLogPath(path));
    return db
      .prepare(
        'SELECT (SELECT applied_seq FROM mirror_state) AS applied, (SELECT max(seq) FROM event_log.log) AS logged',
      )
      .get() as { applied: number; logged: number };
  } finally {
    db.close();
  }
}

/** The copy has all that the primary has, and both have applied it. */
export function isUpToDate(primaryPath: string, copyPath: string): boolean {
  const [a, b] = [positionIn(primaryPath), positionIn(copyPath)];
  return a.applied === a.logged && b.logged === a.logged && b.applied === a.logged;
}
