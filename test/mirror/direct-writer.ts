/**
 * Event log and projection on one connection and without threads: what is written is applied when the call returns. For
 * tests and for scripts that make mirrors.
 */
import type { Fact } from '../../src/core/apply/fact.ts';
import type { CommandName } from '../../src/mirror/writer/commands.ts';
import { StoreError } from '../../src/sqlite/errors.ts';
import { encodeEntry, type NewEntry } from '../../src/event-log/entries.ts';
import { EventLog, type LogInput } from '../../src/event-log/event-log.ts';
import { eventLogPath, openLogForAppending } from '../../src/event-log/open-log.ts';
import { LogReader } from '../../src/event-log/read-log.ts';
import { failureOf } from '../../src/sqlite/explain.ts';
import type { Db } from '../../src/sqlite/open.ts';
import { openWriter } from '../../src/mirror/file/open-writer.ts';
import {
  Projection,
  type BranchCounts,
  type Report,
  type Result,
} from '../../src/mirror/writer/projection.ts';
import { NOTHING_PRUNED, prunedIn, type Pruned } from '../../src/mirror/writer/pruned.ts';
import { isPrunable } from '../../src/mirror/queries/status.ts';
import type { PruneArgs } from '../../src/mirror/writer/store-writer.ts';
import { present } from '../shared/present.ts';

export type Input =
  | { readonly kind: 'delivery'; readonly body: Uint8Array; readonly arrivedAtMs: number }
  | { readonly kind: 'entry'; readonly entry: NewEntry }
  | { readonly kind: 'command'; readonly name: CommandName; readonly args: unknown };

export interface Appended {
  readonly seq: number;
  readonly duplicate: boolean;
  readonly facts: readonly Fact[];
}

export type { Result };

/** The mirror's file with its event log attached, whose table is found as `log`. */
export function openBoth(path: string): Db {
  const db = openWriter(path);
  const logPath = eventLogPath(path);
  openLogForAppending(logPath).close();
  db.prepare('ATTACH ? AS event_log').run(logPath);
  db.exec('UPDATE event_log.metadata SET epoch = (SELECT epoch FROM service_state)');
  return db;
}

export class Writer {
  readonly log: EventLog;
  readonly projection: Projection;
  readonly #db: Db;

  /** @param db as `openBoth` gives it, unless the event log is elsewhere. */
  constructor(db: Db, logDb: Db = db) {
    this.#db = db;
    this.log = new EventLog(logDb);
    this.projection = new Projection(db, new LogReader(logDb));
  }

  get lastSeq(): number {
    return this.log.lastSeq;
  }

  branchCounts(): BranchCounts {
    return this.projection.branchCounts();
  }

  prune({ nowMs, beforeMs, limit }: PruneArgs): Pruned {
    const belowSeq = this.projection.appliedSeq;
    const { deleted, firstSeq } = this.log.prune({ beforeMs, belowSeq, limit });
    if (!isPrunable(this.#db, { beforeMs, firstSeq })) return { ...NOTHING_PRUNED, log: deleted };
    const entry: NewEntry = { kind: 'pruned', atMs: nowMs, beforeMs, firstSeq, limit };
    const [result] = this.commit([{ kind: 'entry', entry }]);
    if (result?.ok !== true) throw result?.error ?? new Error('no result');
    return { log: deleted, ...prunedIn((result.value as Appended).facts) };
  }

  /** The results are in the order of the inputs; commands run last. */
  commit(inputs: readonly Input[]): Result[] {
    const isLogged = (input: Input): boolean => input.kind !== 'command';
    const commands = inputs.filter((input) => input.kind === 'command');
    try {
      const places = this.log.append(inputs.filter(isLogged).map(encoded));
      const reports = new Map<number, Report>();
      const results: Result[] = [];
      do {
        const isLast = this.log.lastSeq - this.projection.appliedSeq <= 256;
        const step = this.projection.step(isLast ? commands : []);
        for (const report of step.reports) reports.set(report.seq, report);
        results.push(...step.results);
      } while (this.projection.appliedSeq < this.log.lastSeq);
      return inputs.map((input): Result => {
        if (input.kind === 'command') return present(results.shift());
        const { seq, duplicate } = present(places.shift());
        const report = duplicate ? undefined : reports.get(seq);
        if (report !== undefined && report.failed !== null) {
          return { ok: false, error: new StoreError('cannot_commit', report.failed) };
        }
        return { ok: true, value: { seq, duplicate, facts: report?.facts ?? [] } satisfies Appended };
      });
    } catch (error) {
      return inputs.map(() => ({ ok: false, error: failureOf(error) }));
    }
  }
}

function encoded(input: Input): LogInput {
  if (input.kind === 'delivery') return input;
  if (input.kind === 'entry') return { kind: 'entry', entry: encodeEntry(input.entry) };
  throw new Error('commands are not logged');
}
