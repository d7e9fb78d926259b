/** Filled databases, shared by the parts that measure with them, and a mirror on one of them that has no store. */
import Database from 'better-sqlite3';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, fsyncSync, openSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { eventLogPath } from '../../src/event-log/open-log.ts';
import type { Db } from '../../src/sqlite/open.ts';
import type { Bench } from './bench.ts';
import type { Child, Listening } from './child.ts';
import { startMirror } from './mirror.ts';
import { environmentOf } from './upstream.ts';

export const FILLED_SECRET = 'filled-webhook-secret';
const BUSY_TIMEOUT_MS = 5_000;
const run = promisify(execFile);

/**
 * @returns the path of the one with this many stock levels: made by the first caller, then as each part leaves it.
 */
export async function filledDatabase({ memoryFolder, say }: Bench, levels: number): Promise<string> {
  const path = join(memoryFolder, `filled-${levels}.db`);
  if (existsSync(path)) return path;
  const startedMs = performance.now();
  await run(process.execPath, [join(import.meta.dirname, 'programs/fill-process.ts'), path, String(levels)]);
  for (const file of [path, eventLogPath(path)]) toDisk(file);
  say(`${levels} stock levels written in ${((performance.now() - startedMs) / 1_000).toFixed(0)} s`);
  return path;
}

/** Written back now, and not while something is measured. */
function toDisk(path: string): void {
  const descriptor = openSync(path, 'r+');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** A mirror on this database. It asks a store that does not exist. @param port of the webhooks; 0: any. */
export async function startFilled(path: string, folder: string, port = 0): Promise<Child> {
  const service = {
    baseUrl: `http://127.0.0.1:${await freePort()}`,
    clientId: 'filled-client',
    clientSecret: 'filled-secret',
    webhookSecret: FILLED_SECRET,
  };
  return startMirror({ ...environmentOf(service, path), PORT: String(port) }, folder);
}

/** A port of 127.0.0.1 on which nothing listens. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** As a server leaves it that has stopped at this moment: nothing was missed. */
export function stoppedJustNow(path: string): void {
  write(eventLogPath(path), (db) => db.prepare('UPDATE history SET alive_at_ms = ?').run(Date.now()));
}

/** @returns where it listens, once it does nothing but wait for deliveries. */
export async function idle(mirror: Child, path: string): Promise<Listening> {
  const at = await mirror.listening();
  // Every start scans the catalogue. With a store that does not exist the scan would only be in the way.
  const ended = `UPDATE runs SET state = 'failed', error = 'not measured' WHERE state = 'running'`;
  write(path, (db) => db.exec(ended));
  return at;
}

function write(path: string, statement: (db: Db) => unknown): void {
  const db = new Database(path, { timeout: BUSY_TIMEOUT_MS });
  try {
    statement(db);
  } finally {
    db.close();
  }
}
