/** Runs and what is left of them. */
import type { RunKind, RunState } from '../commands.ts';
import type { Db } from '../open.ts';
import { prepared } from '../prepared.ts';
import { runs } from '../schema.ts';
import { selectFrom } from '../statements.ts';

export interface Run {
  readonly id: number;
  readonly kind: RunKind;
  readonly state: RunState;
  readonly startedAtMs: number;
  readonly finishedAtMs: number | null;
  readonly readAfterMs: number;
  readonly productIds: readonly string[] | null;
  readonly listOffset: number;
  readonly listLastId: string | null;
  readonly listDone: boolean;
  readonly startedSeq: number;
  readonly total: number;
  readonly done: number;
  readonly drift: number;
  readonly failed: number;
  readonly error: string | null;
}

type Row = typeof runs.$inferSelect;

function runOf(row: Row): Run {
  const { productIdsJson, listDone, kind, state, ...rest } = row;
  return {
    ...rest,
    kind: kind as RunKind,
    state: state as RunState,
    listDone: listDone === 1,
    productIds: productIdsJson === null ? null : (JSON.parse(productIdsJson) as string[]),
  };
}

const SELECT = selectFrom(runs);

export function runningRuns(db: Db): Run[] {
  return prepared<[], Row>(db, `${SELECT} WHERE state = 'running' ORDER BY id`).all().map(runOf);
}

/** The walk through the whole catalogue under way, if any. */
export function runningCatalogueRun(db: Db): Run | null {
  const ofCatalogue = `${SELECT} WHERE state = 'running' AND product_ids_json IS NULL ORDER BY id`;
  const row = prepared<[], Row>(db, ofCatalogue).get();
  return row === undefined ? null : runOf(row);
}

export function runById(db: Db, args: { readonly id: number }): Run | null {
  const row = prepared<[number], Row>(db, `${SELECT} WHERE id = ?`).get(args.id);
  return row === undefined ? null : runOf(row);
}

/** The latest first. @param args.before ids below this one. */
export function latestRuns(db: Db, args: { readonly limit: number; readonly before?: number }): Run[] {
  return prepared<[number, number], Row>(db, `${SELECT} WHERE id < ? ORDER BY id DESC LIMIT ?`)
    .all(args.before ?? Number.MAX_SAFE_INTEGER, args.limit)
    .map(runOf);
}

export interface Remaining {
  /** Products of the run not read yet. */
  readonly unread: number;
  /** Of these: refused, or failed so often that no run waits for them any longer, and not about to be tried again. */
  readonly parked: number;
  /** Products the run covers. */
  readonly total: number;
}

/** A run must end: it waits for no product whose read is given up, once that was tried. */
const GIVEN_UP = `(f.next_at_ms > @nowMs AND f.product_id IN (SELECT product_id FROM given_up_reads))`;

// Asked several times a second while a run lasts: each figure is kept, or from an index alone.
const CATALOGUE = `
  SELECT
    (SELECT products FROM live_counts) AS total,
    (SELECT count(*) FROM products WHERE gone_at_ms IS NULL AND read_at_ms < @readAfterMs) AS unread,
    (
      SELECT count(*) FROM read_failures f JOIN products p ON p.product_id = f.product_id
      WHERE ${GIVEN_UP} AND p.gone_at_ms IS NULL AND p.read_at_ms < @readAfterMs
    ) AS parked`;

// A product the mirror never held is read once its obligation is gone.
const NAMED = `
  SELECT count(*) AS total,
    coalesce(sum(coalesce(p.read_at_ms < @readAfterMs, 1) AND o.product_id IS NOT NULL), 0) AS unread,
    coalesce(sum(coalesce(p.read_at_ms < @readAfterMs, 1) AND o.product_id IS NOT NULL AND ${GIVEN_UP}), 0) AS parked
  FROM json_each(@productIds) l
  LEFT JOIN products p ON p.product_id = l.value
  LEFT JOIN obligations o ON o.product_id = l.value
  LEFT JOIN read_failures f ON f.product_id = l.value`;

export function remainingOf(
  db: Db,
  args: {
    readonly readAfterMs: number;
    readonly productIds: readonly string[] | null;
    readonly nowMs: number;
  },
): Remaining {
  const { readAfterMs, productIds, nowMs } = args;
  const row =
    productIds === null
      ? prepared<object, Remaining>(db, CATALOGUE).get({ readAfterMs, nowMs })
      : prepared<object, Remaining>(db, NAMED).get({
          readAfterMs,
          nowMs,
          productIds: JSON.stringify(productIds),
        });
  return row ?? { total: 0, unread: 0, parked: 0 };
}
