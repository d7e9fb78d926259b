import type { NewInput } from '../mirror/writer/applier.ts';
import { isIsolated, RUN_PRIORITY, type Run, type RunKind } from '../core/runs.ts';
import { EARLIEST_MS, REPLICA_LAG_MS } from '../core/limits.ts';
import type { ReadingDeps } from './product-reader.ts';

type RunDeps = Pick<ReadingDeps, 'mirror' | 'now' | 'log'>;

export interface OrderedRun extends Run {
  /** Already under way: it does not repeat its earlier reads. */
  readonly joined: boolean;
}

/** Runs that a missed period requires. */
const AFTER_SILENCE: ReadonlySet<RunKind> = new Set<RunKind>(['initial', 'downtime']);

/**
 * Begins the reads of everything after a time in which deliveries may have been missed, unless a run
 * covers it (docs/architecture.md#what-may-have-been-missed). Idempotent: the database alone decides.
 */
export async function beginRunAfterBarrier(deps: RunDeps): Promise<OrderedRun | null> {
  const { mirror, now, log } = deps;
  const due = await mirror.ask('runAfterBarrier', { nowMs: now() });
  if (due === null) return null;
  if (due.kind === 'downtime') {
    log.warn(
      'deliveries may have been missed: every product is read, the most recently active first; ' +
        'until then its rows are suspect',
    );
  }
  // Reads since the barrier count. A new mirror has no barrier,
  // and its first reads may come from a lagging replica.
  const isNew = due.trustedAfterMs === EARLIEST_MS;
  const readAfterMs = isNew ? now() + REPLICA_LAG_MS : due.trustedAfterMs;
  return beginCatalogueRun(deps, due.kind, readAfterMs);
}

/**
 * @param readAfterMs earlier reads do not count; by default, those before the start.
 * @returns for an operator or the schedule, the run under way
 * if it is at least as urgent and has anything left to read.
 */
export async function beginCatalogueRun(
  deps: RunDeps,
  kind: RunKind,
  readAfterMs?: number,
): Promise<OrderedRun> {
  const { mirror, now, log } = deps;
  const { running, products } = await mirror.ask('catalogueOutlook');
  if (AFTER_SILENCE.has(kind)) {
    // The list may have changed during the downtime: a new scan covers an earlier one.
    for (const run of running) {
      if (RUN_PRIORITY[run.kind] < RUN_PRIORITY[kind]) continue;
      // The first scan stays: it has products left that the new run does not cover.
      if (run.kind === 'initial' && kind !== 'initial') continue;
      await endRun(deps, run, 'a later catalogue scan covers this one');
    }
  } else {
    const isUrgent = (run: Run): boolean =>
      kind !== 'search' && RUN_PRIORITY[run.kind] <= RUN_PRIORITY.initial;
    const urgent = running.find((run) => run.kind === kind || isUrgent(run));
    // A run that a killed process left may have read everything: it would end without a read.
    if (urgent !== undefined && !(await followRun(deps, urgent))) {
      if (kind === 'operator') await mirror.command('retryFailures', undefined);
      return { ...urgent, joined: true };
    }
  }
  const startedAtMs = now();
  const run = await beginRun(mirror, {
    run: kind,
    atMs: startedAtMs,
    readAfterMs: readAfterMs ?? (kind === 'search' ? EARLIEST_MS : startedAtMs),
    total: products,
    productIds: null,
  });
  log.info(
    { runId: run.id, kind },
    kind === 'search' ? 'searching the catalogue' : 'reading the whole catalogue',
  );
  return { ...run, joined: false };
}

export async function beginProductRun(deps: RunDeps, productIds: readonly string[]): Promise<OrderedRun> {
  const { mirror, now, log } = deps;
  const startedAtMs = now();
  await mirror.append({
    kind: 'request_reads',
    atMs: startedAtMs,
    reason: 'operator',
    productIds,
    variantIds: [],
  });
  const run = await beginRun(mirror, {
    run: 'products',
    atMs: startedAtMs,
    readAfterMs: startedAtMs,
    total: productIds.length,
    productIds,
  });
  log.info({ runId: run.id, products: productIds.length }, 'reading products at an operator’s request');
  return { ...run, joined: false };
}

/**
 * A catalogue scan succeeds without a few unreadable products; their rows stay suspect.
 * @returns true if it has ended.
 */
export async function followRun(deps: RunDeps, run: Run): Promise<boolean> {
  const { mirror, now, log } = deps;
  const { id, startedAtMs, readAfterMs, productIds } = run;
  const remaining = await mirror.command('progressRun', { id, startedAtMs, nowMs: now() });
  if (remaining === null) return true;
  const { unread, givenUp, total } = remaining;
  if (!run.listDone || unread > givenUp || readAfterMs > now()) return false;
  const isDone = givenUp === 0 || (productIds === null && isIsolated(givenUp, total));
  const error = isDone
    ? await absenceIn(mirror, run)
    : `${givenUp} products could not be read from the store; see the log and the status`;
  await endRun(deps, run, error);
  const ended = await mirror.ask('runById', { id });
  log.info(
    { runId: id, kind: run.kind, products: ended?.done, givenUp, differences: ended?.differences },
    'the run has ended',
  );
  return true;
}

const NAMED = 5;

/** A product that the store does not have is probably a typing error of the operator. */
async function absenceIn(
  mirror: ReadingDeps['mirror'],
  { productIds, allowedBy }: Run,
): Promise<string | null> {
  if (productIds === null || allowedBy !== null) return null;
  const absent = await mirror.ask('absentProducts', { productIds });
  if (absent.length === 0) return null;
  const more = absent.length > NAMED ? ` and ${absent.length - NAMED} more` : '';
  return (
    `the store has no product ${absent.slice(0, NAMED).join(', ')}${more}: ` +
    'check the id; one that was deleted there is removed once a list of the catalogue confirms it'
  );
}

/** Leaves the run's counters as the writer has them. */
export async function endRun({ mirror, now }: RunDeps, run: Run, error: string | null): Promise<void> {
  const { id, kind, startedAtMs, productIds } = run;
  await mirror.append({
    kind: 'run_ended',
    atMs: now(),
    runId: id,
    startedAtMs,
    error,
    fullSync: error === null && productIds === null && kind !== 'search',
  });
}

async function beginRun(
  mirror: ReadingDeps['mirror'],
  begun: Omit<Extract<NewInput, { kind: 'run_begun' }>, 'kind'>,
): Promise<Run> {
  const { seq, facts } = await mirror.append({ kind: 'run_begun', ...begun });
  const run = facts.find((fact) => fact.kind === 'run_begun')?.run;
  if (run === undefined) throw new Error(`the run of input ${seq} is not in the database`);
  return run;
}
