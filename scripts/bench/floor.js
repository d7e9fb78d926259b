/**
 * `node scripts/bench/floor.js receiver|both`: the memory of a process that loads the libraries of stock-mirror in the
 * same threads and opens a database in each, and does nothing else. JavaScript, because stripping types takes memory.
 */
import console from 'node:console';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setInterval } from 'node:timers';
import { setTimeout as sleep } from 'node:timers/promises';
import { URL } from 'node:url';
import { isMainThread, Worker, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';

const SETTLES_WITHIN_MS = 6_000;

const LIBRARIES = {
  receiver: ['hono', '@hono/node-server', 'pino'],
  main: [
    ...['hono', '@hono/node-server', '@hono/zod-openapi', 'pino'],
    ...['prom-client', 'zod', 'undici', 'croner'],
  ],
  apply: ['zod'],
};

async function load(names) {
  for (const name of names) await import(name);
}

function openIn(folder, name) {
  const db = new Database(join(folder, `${name}.db`));
  db.pragma('journal_mode = WAL');
  db.exec('CREATE TABLE rows (id)');
}

async function measure(role) {
  const folder = mkdtempSync(join(tmpdir(), 'stock-mirror-floor-'));
  if (role === 'receiver') {
    await load([...LIBRARIES.receiver, 'prom-client']);
    openIn(folder, 'inbox');
    createServer().listen(0, '127.0.0.1');
  } else {
    await load(LIBRARIES.main);
    openIn(folder, 'queries');
    for (const thread of ['receiver', 'apply']) {
      new Worker(new URL(import.meta.url), {
        workerData: { folder, thread },
        resourceLimits: { maxYoungGenerationSizeMb: thread === 'receiver' ? 24 : 4 },
      });
    }
  }
  createServer().listen(0, '127.0.0.1');
  await sleep(SETTLES_WITHIN_MS);
  const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'));
  rmSync(folder, { recursive: true });
  console.log(`${role}: ${Math.round((kilobytes * 1_024) / 1e6)} MB`);
  process.exit();
}

async function stay({ folder, thread }) {
  await load(LIBRARIES[thread]);
  openIn(folder, thread);
  if (thread === 'receiver') createServer().listen(0, '127.0.0.1');
  setInterval(() => undefined, SETTLES_WITHIN_MS);
}

await (isMainThread ? measure(process.argv[2] ?? 'both') : stay(workerData));
