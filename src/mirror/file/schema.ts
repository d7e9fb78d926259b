/**
 * The tables behind the views. Ids are TEXT, instants INTEGER epoch ms; core/model.ts explains most columns. The
 * migration adds what drizzle cannot express. SQLite 3.31 must be able to read the file: no STRICT, and no newer
 * function in an index, check or view.
 */
import { EARLIEST_MS, HELD_MS } from '../../core/limits.ts';
import {
  GAP_KINDS,
  SOURCES,
  VARIANT_KINDS,
  WAYS_IN,
  type GapKind,
  type Source,
  type VariantKind,
  type WayIn,
} from '../../core/model.ts';
import type { Reason, READ_FAILED } from '../../core/reasons.ts';
import { RUN_KINDS, RUN_STATES, type RunKind, type RunState } from '../../core/runs.ts';
import { check, index, integer, primaryKey, sql, sqliteTable, text } from '../../sqlite/drizzle.ts';
import type { Flag } from '../../sqlite/query.ts';
import { MIRROR_STATES, type MirrorState } from './state.ts';

/** log2 of the change numbers in one share of the feed's indexes. */
export const SHARE_BITS = 13;

const isOneOf = (column: string, values: readonly string[]) =>
  sql.raw(`${column} IN (${values.map((value) => `'${value}'`).join(', ')})`);

export const stockLevels = sqliteTable(
  'stock_levels',
  {
    variantId: text('variant_id').notNull(),
    warehouseId: text('warehouse_id').notNull(),
    qty: integer('qty').notNull(),
    source: text('source').$type<Source>().notNull(),
    asOfMs: integer('as_of_ms').notNull(),
    eventTimeMs: integer('event_time_ms').notNull(),
    eventOld: integer('event_old').notNull(),
    eventCount: integer('event_count').notNull(),
    eventAtMs: integer('event_at_ms').notNull(),
    readLoMs: integer('read_lo_ms').notNull(),
    readHiMs: integer('read_hi_ms').notNull(),
    readAtMs: integer('read_at_ms').notNull(),
    verifiedAtMs: integer('verified_at_ms'),
    onHand: integer('on_hand'),
    reservedQty: integer('reserved_qty'),
    onHandAsOfMs: integer('on_hand_as_of_ms'),
    missingAtMs: integer('missing_at_ms'),
    goneAtMs: integer('gone_at_ms'),
    changeSeq: integer('change_seq').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.variantId, t.warehouseId] }),
    index('stock_levels_change_seq')
      .on(t.changeSeq)
      .where(sql`gone_at_ms IS NULL`),
    index('stock_levels_missing')
      .on(t.missingAtMs)
      .where(sql`missing_at_ms IS NOT NULL AND gone_at_ms IS NULL`),
    check('stock_levels_source', isOneOf('source', SOURCES)),
  ],
);

export const variants = sqliteTable(
  'variants',
  {
    variantId: text('variant_id').primaryKey(),
    productId: text('product_id'),
    sku: text('sku'),
    upc: text('upc'),
    name: text('name').notNull(),
    kind: text('kind').$type<VariantKind>().notNull(),
    availableQty: integer('available_qty'),
    onHand: integer('on_hand'),
    reservedQty: integer('reserved_qty'),
    allowNegativeStock: integer('allow_negative_stock').notNull(),
    priceJson: text('price_json'),
    cost: text('cost'),
    bundledByCount: integer('bundled_by_count').notNull(),
    asOfMs: integer('as_of_ms').notNull(),
    verifiedAtMs: integer('verified_at_ms'),
    totalHiMs: integer('total_hi_ms').notNull().default(EARLIEST_MS),
    eventAtMs: integer('event_at_ms').notNull(),
    missingAtMs: integer('missing_at_ms'),
    goneAtMs: integer('gone_at_ms'),
    lookupAtMs: integer('lookup_at_ms'),
    changeSeq: integer('change_seq').notNull(),
    /** Stock levels that are not removed. Triggers of the migration count them. */
    liveLevels: integer('live_levels').notNull().default(0),
    /** 1 if the variant's total is sold, because reads do not show the quantities of its warehouses, or it has none. */
    soldAsTotal: integer('sold_as_total').generatedAlwaysAs(
      sql.raw(`kind NOT IN ('own', 'assembled') OR total_hi_ms > ${EARLIEST_MS} OR live_levels = 0`),
      { mode: 'virtual' },
    ),
    /** Its rows in `mirror_sellable`. */
    sellableRows: integer('sellable_rows').generatedAlwaysAs(
      sql.raw(
        'CASE WHEN sold_as_total THEN gone_at_ms IS NULL AND available_qty IS NOT NULL ELSE live_levels END',
      ),
      { mode: 'virtual' },
    ),
  },
  (t) => [
    index('variants_product').on(t.productId),
    index('variants_sku').on(t.sku),
    index('variants_change_seq')
      .on(t.changeSeq)
      .where(sql`gone_at_ms IS NULL`),
    // `mirror_sellable` is read in the order of numbers, and in pages in the order of ids. Without these two indexes, a
    // query would examine every variant after its position.
    index('variants_sold_as_total')
      .on(t.changeSeq)
      .where(sql`sold_as_total = 1 AND gone_at_ms IS NULL`),
    index('variants_sold_as_total_id')
      .on(t.variantId)
      .where(sql`sold_as_total = 1 AND gone_at_ms IS NULL`),
    // Levels that no read shows, which are not sold.
    index('variants_unlisted')
      .on(t.variantId)
      .where(sql`sold_as_total = 1 AND live_levels > 0`),
    index('variants_unmapped')
      .on(t.variantId)
      .where(sql`product_id IS NULL AND gone_at_ms IS NULL`),
    index('variants_bundle')
      .on(t.variantId)
      .where(sql`kind = 'bundle' AND gone_at_ms IS NULL`),
    index('variants_lookup')
      .on(t.lookupAtMs)
      .where(sql`lookup_at_ms IS NOT NULL`),
    index('variants_missing')
      .on(t.missingAtMs)
      .where(sql`missing_at_ms IS NOT NULL AND gone_at_ms IS NULL`),
    check('variants_kind', isOneOf('kind', VARIANT_KINDS)),
    check('variants_negative', sql`allow_negative_stock IN (0, 1)`),
  ],
);

export const products = sqliteTable(
  'products',
  {
    productId: text('product_id').primaryKey(),
    name: text('name'),
    parentId: text('parent_id'),
    updateTimeMs: integer('update_time_ms'),
    readAtMs: integer('read_at_ms').notNull(),
    readUntilMs: integer('read_until_ms').notNull().default(EARLIEST_MS),
    evidenceAtMs: integer('evidence_at_ms').notNull().default(EARLIEST_MS),
    missingAtMs: integer('missing_at_ms'),
    goneAtMs: integer('gone_at_ms'),
    hasBundle: integer('has_bundle').$type<Flag>().notNull(),
    conflictReads: integer('conflict_reads').notNull().default(0),
    removalAllowedBy: text('removal_allowed_by'),
  },
  (t) => [
    index('products_read_at')
      .on(t.readAtMs)
      .where(sql`gone_at_ms IS NULL`),
    index('products_evidence')
      .on(t.evidenceAtMs)
      .where(sql`gone_at_ms IS NULL`),
    index('products_missing')
      .on(t.missingAtMs)
      .where(sql`missing_at_ms IS NOT NULL AND gone_at_ms IS NULL`),
    index('products_bundle')
      .on(t.productId)
      .where(sql`has_bundle = 1 AND gone_at_ms IS NULL`),
    check('products_bundle_flag', sql`has_bundle IN (0, 1)`),
  ],
);

/** A separate table, because details are large and rarely read. */
export const productDetails = sqliteTable('product_details', {
  productId: text('product_id').primaryKey(),
  detailJson: text('detail_json').notNull(),
});

/** Products to be read, each in one row: why, from when on, and how earlier attempts failed. */
export const dueReads = sqliteTable(
  'due_reads',
  {
    productId: text('product_id').primaryKey(),
    reason: text('reason').$type<Reason | typeof READ_FAILED>().notNull(),
    priority: integer('priority').notNull(),
    isSuspect: integer('is_suspect').$type<Flag>().notNull(),
    madeAtMs: integer('made_at_ms').notNull(),
    firstMadeAtMs: integer('first_made_at_ms').notNull(),
    notBeforeMs: integer('not_before_ms').notNull(),
    /** The mass-removal guard holds the read until an operator decides. */
    held: integer('held').generatedAlwaysAs(sql.raw(`not_before_ms >= ${HELD_MS}`), { mode: 'virtual' }),
    /** Failures since a read succeeded, or since a schedule, a run or an operator asked for a retry. */
    attempts: integer('attempts').notNull().default(0),
    /** Failures, since a read succeeded, while the store answered other requests. */
    faults: integer('faults').notNull().default(0),
    retryAtMs: integer('retry_at_ms').notNull().default(0),
    /** 1 if the store refused the read: only a schedule, a run or an operator's request tries again. */
    parked: integer('parked').$type<Flag>().notNull().default(0),
    /** The reads were refused, or failed too often: no run waits for them until one succeeds. */
    givenUp: integer('given_up').$type<Flag>().notNull().default(0),
    /** null if no read has failed since one succeeded. */
    failedAtMs: integer('failed_at_ms'),
    lastError: text('last_error'),
  },
  (t) => [
    index('due_reads_queue').on(t.priority, t.attempts, t.firstMadeAtMs),
    index('due_reads_suspect')
      .on(t.productId)
      .where(sql`is_suspect = 1`),
    index('due_reads_failed')
      .on(t.failedAtMs)
      .where(sql`failed_at_ms IS NOT NULL`),
    index('due_reads_held')
      .on(t.productId)
      .where(sql`held = 1`),
    check('due_reads_suspect', sql`is_suspect IN (0, 1)`),
  ],
);

export const gaps = sqliteTable(
  'gaps',
  {
    variantId: text('variant_id').notNull(),
    warehouseId: text('warehouse_id').notNull(),
    inboxSeq: integer('inbox_seq').notNull(),
    kind: text('kind').$type<GapKind>().notNull().default('loss'),
    openedAtMs: integer('opened_at_ms').notNull(),
    dueAtMs: integer('due_at_ms').notNull(),
    fromQty: integer('from_qty').notNull(),
    toQty: integer('to_qty').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.variantId, t.warehouseId, t.inboxSeq, t.kind] }),
    index('gaps_due').on(t.dueAtMs),
    check('gaps_kind', isOneOf('kind', GAP_KINDS)),
  ],
);

export const changes = sqliteTable(
  'changes',
  {
    seq: integer('seq').primaryKey(),
    inboxSeq: integer('inbox_seq'),
    variantId: text('variant_id').notNull(),
    warehouseId: text('warehouse_id'),
    sku: text('sku'),
    oldQty: integer('old_qty'),
    newQty: integer('new_qty'),
    source: text('source').$type<Source>().notNull(),
    reason: text('reason'),
    orderId: text('order_id'),
    userId: text('user_id'),
    updateTimeMs: integer('update_time_ms'),
    recordedAtMs: integer('recorded_at_ms').notNull(),
    requestId: text('request_id'),
  },
  (t) => [
    // An index by share of the feed keeps inserts in its last share, in memory; an undivided one costs a page read and
    // written per change. The migration makes SQLite search every share (`sqlite_stat1`).
    index('changes_variant').on(sql.raw(`seq >> ${SHARE_BITS}`), t.variantId),
    /** Without `first_read`, which would be most of the index. */
    index('changes_corrected')
      .on(t.reason)
      .where(sql`source = 'read' AND reason <> 'first_read'`),
    /** Nearly ordered inserts keep the index compact. */
    index('changes_recorded').on(t.recordedAtMs),
  ],
);

export const deadLetters = sqliteTable(
  'dead_letters',
  {
    id: integer('id').primaryKey(),
    inboxSeq: integer('inbox_seq').notNull(),
    arrivedAtMs: integer('arrived_at_ms').notNull(),
    itemIndex: integer('item_index'),
    problem: text('problem').notNull(),
    variantId: text('variant_id'),
  },
  (t) => [index('dead_letters_delivery').on(t.inboxSeq)],
);

/** The merge branches of a delivery's items, in order, joined by `OUTCOME_SEPARATOR`. */
export const deliveries = sqliteTable('deliveries', {
  inboxSeq: integer('inbox_seq').primaryKey(),
  outcomes: text('outcomes').notNull(),
});

/**
 * `MirrorStateRow` of core/model.ts. The apply thread writes the whole row at the end of each transaction
 * that changed it, as the rules decided. Besides, the start rule (src/mirror/start.ts) sets `change_seq`,
 * `inbox_seq` and `trusted_after_ms` when an epoch begins, and after the clock was ahead `trusted_after_ms`, or the
 * offsets (instants.ts).
 */
export const mirrorState = sqliteTable(
  'mirror_state',
  {
    id: integer('id').primaryKey(),
    appliedSeq: integer('applied_seq').notNull(),
    inboxSeq: integer('inbox_seq').notNull(),
    changeSeq: integer('change_seq').notNull(),
    storeId: text('store_id'),
    lastDeliveryAtMs: integer('last_delivery_at_ms'),
    unreadableAtMs: integer('unreadable_at_ms'),
    offsetWindowStartMs: integer('offset_window_start_ms').notNull(),
    offsetFloorMs: integer('offset_floor_ms'),
    offsetFloorPreviousMs: integer('offset_floor_previous_ms'),
    offsetCeilingMs: integer('offset_ceiling_ms'),
    stampedUntilMs: integer('stamped_until_ms'),
    dateContradictions: integer('date_contradictions').notNull(),
    latenessMs: integer('lateness_ms').notNull(),
    trustedAfterMs: integer('trusted_after_ms').notNull(),
    bundlesDueAtMs: integer('bundles_due_at_ms'),
    bundlesMadeAtMs: integer('bundles_made_at_ms'),
    listedFromMs: integer('listed_from_ms').notNull(),
    removalWindowStartMs: integer('removal_window_start_ms').notNull(),
    removedInWindow: integer('removed_in_window').notNull(),
    wayIn: text('way_in').$type<WayIn['wayIn']>().notNull(),
    wayInSinceMs: integer('way_in_since_ms').notNull(),
    lastWebhookAtMs: integer('last_webhook_at_ms'),
    meanGapMs: integer('mean_gap_ms').notNull(),
    untoldJson: text('untold_json'),
    secretsJson: text('secrets_json').notNull(),
  },
  () => [check('mirror_state_single', sql`id = 1`), check('mirror_state_way_in', isOneOf('way_in', WAYS_IN))],
);

/** Numbers of rows that are not removed, and of rows of `mirror_sellable`. Triggers of the migration count them. */
export const liveCounts = sqliteTable(
  'live_counts',
  {
    id: integer('id').primaryKey(),
    products: integer('products').notNull(),
    variants: integer('variants').notNull(),
    levels: integer('levels').notNull(),
    sellable: integer('sellable').notNull(),
  },
  () => [check('live_counts_single', sql`id = 1`)],
);

/**
 * Only the apply thread has a connection that writes. Who decides, and when it is written:
 *
 * - `epoch`, `inbox_id`: the start rule, when an epoch begins
 * - `alive_at_ms`: the main thread's heartbeat, each second, and the start rule
 * - `clock_ms`: the heartbeat, and the start rule, because a kill may leave rows before the first heartbeat
 * - `checked_since_ms`: the heartbeat
 * - `state`, `state_cause`, `causes_json`: the heartbeat; also the start and an orderly stop, and the trigger
 *   `mirror_state_barrier`, which ends `live` with each new barrier, and `mirror_state_way_in`, when the way in is no longer proven
 * - `inbox_row_at_ms`: each transaction that applied rows of the inbox, and the start rule
 * - `inbox_prunable_seq`, `pruned_change_seq`: the command `prune`; a new epoch sets the first to 0
 * - `last_full_sync_at_ms`: the end of a run that read everything; null when an epoch begins
 * - `is_backup`: 1 by `backup` and `backup --restore` in the copy, 0 when an epoch begins
 */
export const serviceState = sqliteTable(
  'service_state',
  {
    id: integer('id').primaryKey(),
    epoch: text('epoch').notNull(),
    /** Heartbeat, every second. */
    aliveAtMs: integer('alive_at_ms'),
    /** The mirror's clock; at a heartbeat it differs from `alive_at_ms` after the host's clock was set back. */
    clockMs: integer('clock_ms'),
    lastFullSyncAtMs: integer('last_full_sync_at_ms'),
    /** The last pruned number, 0 if none: a consumer below it would miss changes. */
    prunedChangeSeq: integer('pruned_change_seq').notNull().default(0),
    /**
     * Decided by the main thread, written with each heartbeat; `stale` from the opening of the file until the
     * first.
     */
    state: text('state').$type<MirrorState>().notNull().default('stale'),
    /** The first cause of that state; null if it is `live`. */
    stateCause: text('state_cause').default('starting'),
    /** All causes, whole; those that a trigger adds have only code and date. */
    causesJson: text('causes_json').notNull().default('[{"code":"starting"}]'),
    isBackup: integer('is_backup').notNull().default(0),
    /** A row whose evidence is older is not trusted: the heartbeat's own clock minus the bound and a tenth. */
    checkedSinceMs: integer('checked_since_ms').notNull().default(EARLIEST_MS),
    /** The inbox that this mirror follows; null before its first start. */
    inboxId: text('inbox_id'),
    /** Arrival of the last applied row of the inbox, which recognises an inbox that was replaced. */
    inboxRowAtMs: integer('inbox_row_at_ms'),
    /** The receiver may delete rows of the inbox up to this one. */
    inboxPrunableSeq: integer('inbox_prunable_seq').notNull().default(0),
  },
  () => [
    check('service_state_single', sql`id = 1`),
    check('service_state_known', isOneOf('state', MIRROR_STATES)),
  ],
);

export const runs = sqliteTable(
  'runs',
  {
    id: integer('id').primaryKey({ autoIncrement: true }),
    kind: text('kind').$type<RunKind>().notNull(),
    state: text('state').$type<RunState>().notNull(),
    startedAtMs: integer('started_at_ms').notNull(),
    finishedAtMs: integer('finished_at_ms'),
    /** Every product of the run must be read by a read sent at or after this instant. */
    readAfterMs: integer('read_after_ms').notNull(),
    productIdsJson: text('product_ids_json'),
    listOffset: integer('list_offset').notNull(),
    listLastId: text('list_last_id'),
    listDone: integer('list_done').$type<Flag>().notNull(),
    listGap: text('list_gap'),
    total: integer('total').notNull(),
    done: integer('done').notNull(),
    compared: integer('compared').notNull().default(0),
    /** Numbers by reason. */
    differencesJson: text('differences_json').notNull().default('{}'),
    removed: integer('removed').notNull().default(0),
    allowedBy: text('allowed_by'),
    allowedWhy: text('allowed_why'),
    failed: integer('failed').notNull(),
    error: text('error'),
  },
  (t) => [
    index('runs_state').on(t.state),
    check('runs_state_known', isOneOf('state', RUN_STATES)),
    check('runs_kind_known', isOneOf('kind', RUN_KINDS)),
  ],
);

/** A minute (since 1970) of the plots. The names of the values are the plots' own. */
export const minutes = sqliteTable('minutes', {
  minute: integer('minute').primaryKey(),
  valuesJson: text('values_json').notNull(),
});

export const warehouseNames = sqliteTable('warehouse_names', {
  warehouseId: text('warehouse_id').primaryKey(),
  name: text('name').notNull(),
});
