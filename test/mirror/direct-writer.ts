/** Inbox and mirror on one thread: inputs are applied when the call returns. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { inboxPath } from '../../src/inbox/inbox-file.ts';
import { InboxWriter, type Append, type Arrival } from '../../src/receiver/inbox-writer.ts';
import { openForWriting, type OpenInbox } from '../../src/receiver/open-inbox.ts';
import { EARLIEST_MS } from '../../src/core/limits.ts';
import { attachInbox } from '../../src/mirror/reader/open-for-queries.ts';
import { startMirror } from '../../src/mirror/start.ts';
import type { CommandName } from '../../src/mirror/writer/commands.ts';
import { Applier, type AppliedInput, type NewInput, type Result } from '../../src/mirror/writer/applier.ts';
import type { Db } from '../../src/sqlite/open.ts';

export type Input =
  | { readonly kind: 'delivery' | 'test'; readonly body: Uint8Array; readonly arrivedAtMs: number }
  | { readonly kind: 'input'; readonly input: NewInput }
  | { readonly kind: 'command'; readonly name: CommandName; readonly args: unknown };

type Row = Extract<Input, { readonly body: Uint8Array }>;

const isRow = (input: Input): input is Row => 'body' in input;

export type { AppliedInput, Result };

/** Before every instant of the tests. */
const FRESH_MS = 0;

export function openBoth(path: string): Db {
  if (!existsSync(path)) {
    fresh ??= filesOf(createBoth(join(mkdtempSync(join(tmpdir(), 'stock-mirror-fresh-')), 'mirror.db')));
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, fresh.mirror);
    writeFileSync(inboxPath(path), fresh.inbox, { mode: 0o600 });
  }
  const db = createBoth(path);
  db.pragma('synchronous = OFF');
  return db;
}

/** Copying empty files is faster than creating them. */
let fresh: Readonly<Record<'mirror' | 'inbox', Buffer>> | undefined;

function filesOf(db: Db): NonNullable<typeof fresh> {
  const { name } = db;
  db.close();
  const files = { mirror: readFileSync(name), inbox: readFileSync(inboxPath(name)) };
  rmSync(dirname(name), { recursive: true });
  return files;
}

function createBoth(path: string): Db {
  const inbox = openForWriting(inboxPath(path));
  const { db } = startMirror(path, inbox, { nowMs: FRESH_MS, now: () => FRESH_MS, damaged: null });
  // Webhooks have arrived before, unless a test says otherwise.
  db.exec(`UPDATE mirror_state SET trusted_after_ms = ${EARLIEST_MS}, way_in = 'proven'`);
  attachInbox(db, path);
  inbox.close();
  return db;
}

/** An inbox that no other process uses. */
export const unlocked = (db: Db): OpenInbox => ({
  db,
  check: () => undefined,
  close: () => db.close(),
  replace: (damage) => {
    throw damage;
  },
});

/** Deliveries as one transaction of the receiver. */
export function appended(
  deliveries: readonly (Pick<Arrival, 'body' | 'arrivedAtMs'> & { readonly kind?: Arrival['kind'] })[],
): Append {
  return {
    missed: [],
    atMs: 0,
    arrivals: deliveries.map(({ kind = 'delivery', body, arrivedAtMs }) => ({
      kind,
      body,
      arrivedAtMs,
      isFromStream: false,
    })),
    position: null,
    heartbeat: null,
  };
}

/** As a receiver would while no mirror runs. */
export function appendTo(databasePath: string, body: Uint8Array, arrivedAtMs: number): void {
  const db = openForWriting(inboxPath(databasePath));
  new InboxWriter(unlocked(db)).append(appended([{ body, arrivedAtMs }]));
  db.close();
}

export class Writer {
  readonly inbox: InboxWriter;
  readonly inboxDb: Db;
  readonly applier: Applier;

  constructor(db: Db, inboxDb = openForWriting(inboxPath(db.name))) {
    this.inboxDb = inboxDb;
    inboxDb.pragma('synchronous = OFF');
    this.inbox = new InboxWriter(unlocked(this.inboxDb));
    this.applier = new Applier(db, this.inboxDb);
  }

  commit(inputs: readonly Input[]): Result[] {
    const tasks = inputs.filter((input) => !isRow(input));
    let { inputSeq } = this.applier.position;
    this.inbox.append(appended(inputs.filter(isRow)));
    const reports = new Map<number, AppliedInput>();
    const results: Result[] = [];
    for (;;) {
      const step = this.applier.step(tasks.slice(results.length));
      if (step === null) break;
      for (const report of step.reports) reports.set(report.seq, report);
      results.push(...step.results);
    }
    return inputs.map((input): Result => {
      if (!isRow(input)) return results.shift() ?? { ok: true, value: undefined };
      inputSeq += 1;
      return { ok: true, value: reports.get(inputSeq) ?? { seq: inputSeq, facts: [] } };
    });
  }
}
