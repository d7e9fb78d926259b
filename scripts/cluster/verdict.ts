/** What must hold when all is over: nothing answered is missing anywhere, and all replicas are one. */
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { bodyHash } from '../../src/event-log/body-hash.ts';
import { eventLogPath } from '../../src/event-log/open-log.ts';
import { digestsOf } from '../../src/mirror/file/projected.ts';
import type { Truth } from '../../src/sandbox/world/truth.ts';
import { openReader } from '../../src/sqlite/open.ts';
import { endingOf, untilQuiet } from '../crash/quiet.ts';
import type { ClusterNode } from './node.ts';

const LOOK_EVERY_MS = 250;

interface Standing {
  readonly epoch: string;
  readonly lastSeq: number;
  readonly changeSeq: number;
  readonly digest: string;
}

/** Until all replicas stand at the same entry and have nothing left to do. @returns false when they do not. */
export async function untilAtRest(replicas: readonly ClusterNode[], withinMs: number): Promise<boolean> {
  const untilMs = performance.now() + withinMs;
  for (const { databasePath } of replicas) {
    const leftMs = Math.max(1_000, untilMs - performance.now());
    if (!(await untilQuiet(databasePath, leftMs))) return false;
  }
  while (performance.now() < untilMs) {
    const standings = replicas.map(({ databasePath }) => standingOf(databasePath));
    if (new Set(standings.map(({ lastSeq, digest }) => `${lastSeq} ${digest}`)).size === 1) return true;
    await sleep(LOOK_EVERY_MS);
  }
  return false;
}

function standingOf(databasePath: string): Standing {
  const db = openReader(databasePath);
  const log = new Database(eventLogPath(databasePath), { readonly: true });
  try {
    const status = db
      .prepare<[], { epoch: string; last_seq: number }>('SELECT epoch, last_seq FROM mirror_status')
      .get();
    const digests = db.transaction(() => digestsOf(db))();
    return {
      epoch: status?.epoch ?? '',
      lastSeq: lastSeqOf(log),
      changeSeq: status?.last_seq ?? 0,
      digest: [...digests].map(([table, digest]) => `${table} ${digest}`).join('\n'),
    };
  } finally {
    db.close();
    log.close();
  }
}

/** The last entry of its event log. */
export function lastSeqIn({ databasePath }: ClusterNode): number {
  const log = new Database(eventLogPath(databasePath), { readonly: true });
  try {
    return lastSeqOf(log);
  } finally {
    log.close();
  }
}

function lastSeqOf(log: Database.Database): number {
  return log.prepare<[], number>('SELECT max(seq) FROM log').pluck().get() ?? 0;
}

/** @param bodies of all that was answered. @returns what is wrong. */
export function judge(
  replicas: readonly ClusterNode[],
  bodies: readonly Uint8Array[],
  truth: Pick<Truth, 'snapshot'>,
): string[] {
  const problems = replicas.flatMap(({ name, databasePath }) => {
    const missing = missingIn(databasePath, bodies);
    return missing === 0 ? [] : [`${missing} answered deliveries are not in the event log of ${name}`];
  });
  const standings = replicas.map(({ name, databasePath }) => ({ name, ...standingOf(databasePath) }));
  for (const what of ['epoch', 'lastSeq', 'changeSeq', 'digest'] as const) {
    const values = new Set(standings.map((standing) => standing[what]));
    if (values.size > 1) problems.push(`the replicas differ in ${what}: ${different(standings, what)}`);
  }
  for (const { name, databasePath } of replicas) {
    problems.push(...endingOf(databasePath, truth).problems.map((problem) => `${name}: ${problem}`));
  }
  return problems;
}

function different(
  standings: readonly (Standing & { readonly name: string })[],
  what: keyof Standing,
): string {
  if (what !== 'digest') return standings.map((at) => `${at.name} ${at[what]}`).join(', ');
  const [first, ...others] = standings.map(({ digest }) => digest.split('\n'));
  const tables = new Set(
    others.flatMap((lines) =>
      lines.filter((line, i) => line !== first?.[i]).map((line) => line.split(' ')[0] ?? ''),
    ),
  );
  return [...tables].join(', ');
}

function missingIn(databasePath: string, bodies: readonly Uint8Array[]): number {
  const db = new Database(eventLogPath(databasePath), { readonly: true });
  try {
    const has = db.prepare<[Buffer]>('SELECT 1 FROM log WHERE body_hash = ?');
    return bodies.filter((body) => has.get(bodyHash(body)) === undefined).length;
  } finally {
    db.close();
  }
}
