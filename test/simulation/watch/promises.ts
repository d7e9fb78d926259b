/**
 * Promises about each commit, checked by triggers: event times do not fall, requests end by a read that can meet
 * them, removals need two answers.
 */
import { CLOCK_BACK_MS } from '../../../src/mirror/new-epoch.ts';
import { prepared } from '../../shared/prepared.ts';
import type { Db } from '../../../src/sqlite/open.ts';
import { present } from '../../shared/present.ts';
import type { EpochClocks } from '../journal.ts';

/** Constants of the design, not of the code under test. */
const REPLICA_LAG_MS = 2_000;
const REMOVAL_CONFIRM_MS = 30_000;
/** How far ahead the clock in the file may be before a new epoch takes it for wrong. */

interface Ended {
  readonly product_id: string;
  readonly made_at_ms: number;
}

interface KeptDetail extends SeenDetail {
  /** The instant in the log of inputs, which keeps the stamps of a clock that was ahead. */
  readonly stampedAtMs: number;
  /** How often the clock had stepped back before: stamps are in order only between two steps. */
  readonly clockSteps: number;
}

/** An answer that the mirror has judged, unlike one that it lost with a process or a file. */
interface LoggedDetail extends KeptDetail {
  /** 0 if its input is pruned. */
  readonly seq: number;
}

export interface Gone {
  readonly what: 'product' | 'variant' | 'level';
  readonly product_id: string | null;
  readonly variant_id: string | null;
  readonly warehouse_id: string | null;
  readonly gone_at_ms: number;
}

function isOvertaken({ seq, sentAtMs }: LoggedDetail, details: readonly LoggedDetail[]): boolean {
  return details.some((other) => other.seq < seq && other.sentAtMs > sentAtMs);
}

interface Fell {
  readonly what: string;
  readonly read_of: string | null;
}

interface LoggedRead {
  readonly productId: string;
  readonly sentAtMs: number;
}

export interface SeenDetail {
  readonly sentAtMs: number;
  readonly sampledAtMs: number | null;
  readonly isTrue: boolean;
  readonly shown: ReadonlyMap<string, ReadonlySet<string> | null> | null;
}

const TRIGGERS = `
  CREATE TEMP TABLE watch_ended (product_id, made_at_ms);
  CREATE TEMP TABLE watch_gone (what, product_id, variant_id, warehouse_id, gone_at_ms);
  CREATE TEMP TABLE watch_fell (what, read_of);
  CREATE TEMP TRIGGER watch_request_deleted AFTER DELETE ON main.due_reads BEGIN
    INSERT INTO watch_ended VALUES (OLD.product_id, OLD.made_at_ms);
  END;
  CREATE TEMP TRIGGER watch_request_lowered AFTER UPDATE ON main.due_reads
  WHEN NEW.made_at_ms < OLD.made_at_ms BEGIN
    INSERT INTO watch_ended VALUES (OLD.product_id, OLD.made_at_ms);
  END;
  CREATE TEMP TRIGGER watch_level AFTER UPDATE ON main.stock_levels BEGIN
    INSERT INTO watch_fell SELECT 'event time of ' || NEW.variant_id || '/' || NEW.warehouse_id
      || ' from ' || OLD.event_time_ms || ' to ' || NEW.event_time_ms, NULL WHERE NEW.event_time_ms < OLD.event_time_ms;
    INSERT INTO watch_fell SELECT 'read_lo of ' || NEW.variant_id || '/' || NEW.warehouse_id,
        (SELECT product_id FROM variants v WHERE v.variant_id = NEW.variant_id)
      -- Unless a later read shows that it came from a wrong clock.
      WHERE NEW.read_lo_ms < OLD.read_lo_ms AND NEW.read_hi_ms >= OLD.read_lo_ms;
    INSERT INTO watch_fell SELECT 'change_seq of ' || NEW.variant_id || '/' || NEW.warehouse_id, NULL
      WHERE NEW.change_seq < OLD.change_seq;
    INSERT INTO watch_gone SELECT 'level', v.product_id, NEW.variant_id, NEW.warehouse_id, NEW.gone_at_ms
      FROM variants v WHERE v.variant_id = NEW.variant_id AND NEW.gone_at_ms IS NOT NULL AND OLD.gone_at_ms IS NULL;
  END;
  CREATE TEMP TRIGGER watch_variant AFTER UPDATE ON main.variants
  WHEN NEW.gone_at_ms IS NOT NULL AND OLD.gone_at_ms IS NULL BEGIN
    INSERT INTO watch_gone VALUES ('variant', NEW.product_id, NEW.variant_id, NULL, NEW.gone_at_ms);
  END;
  CREATE TEMP TRIGGER watch_product AFTER UPDATE ON main.products
  WHEN NEW.gone_at_ms IS NOT NULL AND OLD.gone_at_ms IS NULL BEGIN
    INSERT INTO watch_gone VALUES ('product', NEW.product_id, NULL, NULL, NEW.gone_at_ms);
  END;
  CREATE TEMP TRIGGER watch_state AFTER UPDATE ON main.mirror_state WHEN NEW.change_seq < OLD.change_seq BEGIN
    INSERT INTO watch_fell VALUES ('the last change number', NULL);
  END;`;

export class Promises {
  readonly #fault: (what: string) => void;
  readonly #details = new Map<string, KeptDetail[]>();
  #log: Db | null = null;
  #checkedSeq = 0;
  #clockSteps = 0;
  removals = 0;

  readonly #onGone: (db: Db, gone: Gone) => void;

  readonly #onRead: (productId: string, sentAtMs: number) => void;

  /** @param onGone called for each removed row that was shown before. */
  constructor(
    fault: (what: string) => void,
    onGone: (db: Db, gone: Gone) => void,
    onRead: (productId: string, sentAtMs: number) => void,
  ) {
    this.#fault = fault;
    this.#onGone = onGone;
    this.#onRead = onRead;
  }

  watch(db: Db, log: Db): void {
    db.exec(TRIGGERS);
    this.#log = log;
    this.#checkedSeq = appliedSeq(db);
  }

  sawDetail(productId: string, detail: SeenDetail): void {
    const details = this.#details.get(productId) ?? [];
    details.push({ ...detail, stampedAtMs: detail.sentAtMs, clockSteps: this.#clockSteps });
    this.#details.set(productId, details);
  }

  /** If the clock in the file was wrong, all instants after the present become the present, as in the file. */
  onNewEpoch({ clockMs, nowMs }: EpochClocks): void {
    if (clockMs === null || clockMs <= nowMs + CLOCK_BACK_MS) return;
    this.#clockSteps += 1;
    for (const [productId, details] of this.#details) {
      const brought = details.map((detail) => ({ ...detail, sentAtMs: Math.min(detail.sentAtMs, nowMs) }));
      this.#details.set(productId, brought);
    }
  }

  check(db: Db): void {
    const before = this.#checkedSeq;
    const reads = this.#newReads(db);
    for (const { productId, sentAtMs } of reads) this.#onRead(productId, sentAtMs);
    for (const ended of prepared<[], Ended>(db, 'SELECT * FROM temp.watch_ended').all()) {
      const isMet = reads.some(
        (read) => read.productId === ended.product_id && read.sentAtMs >= ended.made_at_ms + REPLICA_LAG_MS,
      );
      if (!isMet) this.#fault(`a re-read request ended without a read that met it: ${JSON.stringify(ended)}`);
    }
    const allGone = prepared<[], Gone>(db, 'SELECT * FROM temp.watch_gone ORDER BY gone_at_ms').all();
    for (const gone of allGone) {
      const details = this.#detailsBefore(gone, this.#removingSeq(before, gone));
      if (!wasThere(db, gone, details)) continue;
      this.#checkRemoval(gone, details);
      this.#onGone(db, gone);
    }
    for (const { what, read_of: of } of prepared<[], Fell>(db, 'SELECT * FROM temp.watch_fell').all()) {
      if (of !== null && reads.filter(({ productId }) => productId === of).length > 1) continue;
      this.#fault(`fell: ${what}`);
    }
    db.exec('DELETE FROM temp.watch_ended; DELETE FROM temp.watch_gone; DELETE FROM temp.watch_fell');
  }

  #newReads(db: Db): LoggedRead[] {
    const rows = prepared<[number, number], { seq: number; kind: string; payload: Buffer }>(
      present(this.#log),
      'SELECT seq, kind, payload FROM log WHERE seq > ? AND seq <= ? ORDER BY seq',
    ).all(this.#checkedSeq, appliedSeq(db));
    this.#checkedSeq = appliedSeq(db);
    return rows
      .filter((row) => row.kind === 'read')
      .map((row) => JSON.parse(row.payload.toString('utf8')) as LoggedRead);
  }

  #productsOf(productId: string, { what, variant_id: variantId }: Gone): string[] {
    if (what !== 'level' || variantId === null) return [productId];
    const showedIt = [...this.#details].filter(([, details]) =>
      details.some(({ shown }) => shown?.has(variantId) === true),
    );
    return [...new Set([productId, ...showedIt.map(([id]) => id)])];
  }

  #removingSeq(before: number, { gone_at_ms: atMs }: Gone): number {
    const last = prepared<[number, number, number], number | null>(
      present(this.#log),
      'SELECT max(seq) FROM log WHERE seq > ? AND seq <= ? AND at_ms = ?',
    ).pluck();
    return last.get(before, this.#checkedSeq, atMs) ?? 0;
  }

  /** Answers about it in the order of their requests, which those brought to one instant keep. */
  #detailsBefore(gone: Gone, removingSeq: number): LoggedDetail[] {
    if (gone.product_id === null) return [];
    const productIds = this.#productsOf(gone.product_id, gone);
    const seqOf = recordedReads(present(this.#log), productIds);
    return productIds
      .flatMap((productId) =>
        (this.#details.get(productId) ?? []).flatMap((detail): LoggedDetail[] => {
          const seq = seqOf(productId, detail);
          return seq === null || seq > removingSeq ? [] : [{ ...detail, seq }];
        }),
      )
      .toSorted(
        (a, b) => a.sentAtMs - b.sentAtMs || a.clockSteps - b.clockSteps || a.stampedAtMs - b.stampedAtMs,
      );
  }

  #checkRemoval(gone: Gone, details: readonly LoggedDetail[]): void {
    this.removals += 1;
    let missingSinceMs: number | null = null;
    let isConfirmed = false;
    for (const detail of details) {
      if (isShown(detail, gone)) {
        if (isOvertaken(detail, details)) continue;
        missingSinceMs = null;
        isConfirmed = false;
        continue;
      }
      missingSinceMs = Math.min(missingSinceMs ?? detail.sentAtMs, detail.sentAtMs);
      isConfirmed ||= detail.sentAtMs - missingSinceMs >= REMOVAL_CONFIRM_MS;
    }
    if (!isConfirmed) {
      const answers = details.map(
        (detail) => `${detail.sentAtMs} ${isShown(detail, gone) ? 'shown' : 'missing'}`,
      );
      this.#fault(
        `removed without two answers that agree: ${JSON.stringify(gone)}; ${answers.slice(-5).join(', ')}`,
      );
    }
  }
}

function wasThere(db: Db, { what, product_id: productId }: Gone, details: readonly LoggedDetail[]): boolean {
  if (productId === null) return false;
  if (what !== 'product') return true;
  const hasVariant = prepared<[string]>(db, 'SELECT 1 FROM variants WHERE product_id = ?');
  return hasVariant.get(productId) !== undefined && details.some(({ shown }) => shown !== null);
}

/** Inputs of the answers: 0 if pruned, null if not in the log. */
function recordedReads(
  log: Db,
  productIds: readonly string[],
): (productId: string, detail: KeptDetail) => number | null {
  const found = prepared<[string], { seq: number; productId: string; sentAtMs: number }>(
    log,
    `SELECT seq, payload ->> '$.productId' AS productId, payload ->> '$.sentAtMs' AS sentAtMs
     FROM (SELECT seq, CAST(payload AS TEXT) AS payload FROM log WHERE kind = 'read')
     WHERE productId IN (SELECT value FROM json_each(?))`,
  ).all(JSON.stringify(productIds));
  const seqs = new Map(found.map(({ seq, productId, sentAtMs }) => [`${productId} ${sentAtMs}`, seq]));
  const firstAtMs = prepared<[], number | null>(log, 'SELECT min(at_ms) FROM log').pluck().get() ?? 0;
  return (productId, { stampedAtMs }) =>
    seqs.get(`${productId} ${stampedAtMs}`) ?? (stampedAtMs < firstAtMs ? 0 : null);
}

function isShown(detail: SeenDetail, gone: Gone): boolean {
  if (detail.shown === null) return false;
  if (gone.variant_id === null) return true;
  const warehouses = detail.shown.get(gone.variant_id);
  if (warehouses === undefined) return false;
  return gone.warehouse_id === null || warehouses === null || warehouses.has(gone.warehouse_id);
}

function appliedSeq(db: Db): number {
  return prepared<[], number>(db, 'SELECT applied_seq FROM mirror_state').pluck().get() ?? 0;
}
