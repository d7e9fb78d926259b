/**
 * The tables behind the public views. Ids are TEXT, instants INTEGER epoch ms in the mirror's own clock unless stated
 * otherwise. The migration in `drizzle/` adds what drizzle cannot express: WITHOUT ROWID, statistics and the first rows.
 * The columns of the tables that the rules write are explained in `core/model.ts`. SQLite 3.31 must be able to read the
 * file: no STRICT, no newer function in an index, a check or a view.
 */
import { sql } from 'drizzle-orm';
import { check, index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { EARLIEST_MS } from '../../core/limits.ts';
import { SOURCES, VARIANT_KINDS } from '../../core/model.ts';
import { RUN_KINDS, RUN_STATES } from '../../core/runs.ts';
import { SHARE_BITS } from './statements.ts';

const isOneOf = (column: string, values: readonly string[]) =>
  sql.raw(`${column} IN (${values.map((value) => `'${value}'`).join(', ')})`);

export const stockLevels = sqliteTable(
  'stock_levels',
  {
    variantId: text('variant_id').notNull(),
    warehouseId: text('warehouse_id').notNull(),
    qty: integer('qty').notNull(),
    source: text('source').notNull(),
    asOfMs: integer('as_of_ms').notNull(),
    eventTimeMs: integer('event_time_ms').notNull(),
    eventOld: integer('event_old').notNull(),
    eventCount: integer('event_count').notNull(),
    eventSeq: integer('event_seq').notNull(),
    eventAtMs: integer('event_at_ms').notNull(),
    readLoMs: integer('read_lo_ms').notNull(),
    readHiMs: integer('read_hi_ms').notNull(),
    verifiedAtMs: integer('verified_at_ms'),
    onHand: integer('on_hand'),
    reservedQty: integer('reserved_qty'),
    onHandAsOfMs: integer('on_hand_as_of_ms'),
    missingAtMs: integer('missing_at_ms'),
    goneAtMs: integer('gone_at_ms'),
    unexplainedAtMs: integer('unexplained_at_ms'),
    changeSeq: integer('change_seq').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.variantId, t.warehouseId] }),
    index('stock_levels_change_seq')
      .on(t.changeSeq)
      .where(sql`gone_at_ms IS NULL`),
    index('stock_levels_unexplained')
      .on(t.unexplainedAtMs)
      .where(sql`unexplained_at_ms IS NOT NULL`),
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
    kind: text('kind').notNull(),
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
    eventSeq: integer('event_seq').notNull(),
    eventAtMs: integer('event_at_ms').notNull(),
    missingAtMs: integer('missing_at_ms'),
    goneAtMs: integer('gone_at_ms'),
    lookupAtMs: integer('lookup_at_ms'),
    changeSeq: integer('change_seq').notNull(),
  },
  (t) => [
    index('variants_product').on(t.productId),
    index('variants_sku').on(t.sku),
    index('variants_change_seq')
      .on(t.changeSeq)
      .where(sql`gone_at_ms IS NULL`),
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
    /** The store's clock. */
    updateTimeMs: integer('update_time_ms'),
    readSeq: integer('read_seq').notNull(),
    readAtMs: integer('read_at_ms').notNull(),
    readUntilMs: integer('read_until_ms').notNull().default(EARLIEST_MS),
    /** The last read or delivery, whichever is later. */
    evidenceAtMs: integer('evidence_at_ms').notNull().default(EARLIEST_MS),
    missingAtMs: integer('missing_at_ms'),
    goneAtMs: integer('gone_at_ms'),
    hasBundle: integer('has_bundle').notNull(),
    conflictReads: integer('conflict_reads').notNull().default(0),
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

/**
 * The last detail of each product, whole, as the store sent it. A table of its own, because it is large and rarely
 * read.
 */
export const productDetails = sqliteTable('product_details', {
  productId: text('product_id').primaryKey(),
  detailJson: text('detail_json').notNull(),
});

export const readRequests = sqliteTable(
  'read_requests',
  {
    productId: text('product_id').primaryKey(),
    reason: text('reason').notNull(),
    priority: integer('priority').notNull(),
    isSuspect: integer('is_suspect').notNull(),
    madeSeq: integer('made_seq').notNull(),
    madeAtMs: integer('made_at_ms').notNull(),
    firstMadeAtMs: integer('first_made_at_ms').notNull(),
    notBeforeMs: integer('not_before_ms').notNull(),
  },
  (t) => [
    index('read_requests_queue').on(t.priority, t.firstMadeAtMs),
    check('read_requests_suspect', sql`is_suspect IN (0, 1)`),
  ],
);

export const gaps = sqliteTable(
  'gaps',
  {
    variantId: text('variant_id').notNull(),
    warehouseId: text('warehouse_id').notNull(),
    openedSeq: integer('opened_seq').notNull(),
    openedAtMs: integer('opened_at_ms').notNull(),
    dueAtMs: integer('due_at_ms').notNull(),
    fromQty: integer('from_qty').notNull(),
    toQty: integer('to_qty').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.variantId, t.warehouseId, t.openedSeq] }),
    index('gaps_due').on(t.dueAtMs),
  ],
);

/** The public change feed: append-only, until it is pruned. */
export const changes = sqliteTable(
  'changes',
  {
    seq: integer('seq').primaryKey(),
    /** The delivery it came with; null for a read. */
    inboxSeq: integer('inbox_seq'),
    variantId: text('variant_id').notNull(),
    warehouseId: text('warehouse_id'),
    sku: text('sku'),
    oldQty: integer('old_qty'),
    newQty: integer('new_qty'),
    source: text('source').notNull(),
    reason: text('reason'),
    orderId: text('order_id'),
    userId: text('user_id'),
    updateTimeMs: integer('update_time_ms'),
    recordedAtMs: integer('recorded_at_ms').notNull(),
    requestId: text('request_id'),
  },
  (t) => [
    // Each entry of an index ends with the row's own key, `seq`, so that the results come in the feed's order. By
    // variant in shares of the feed: new rows go into the last share, which is small and in memory, where one index
    // of the whole feed would cost a page read and written for each change. SQLite looks through the shares by
    // itself: what the migration puts into `sqlite_stat1` tells it that they are few.
    index('changes_variant').on(sql.raw(`seq >> ${SHARE_BITS}`), t.variantId),
    // By order and by a delivery's request, for the page's search, likewise in shares; each by the end of its id,
    // which is what tells it from the others.
    index('changes_order')
      .on(sql.raw(`seq >> ${SHARE_BITS}`), sql.raw('substr(order_id, -4)'))
      .where(sql`order_id IS NOT NULL`),
    index('changes_request')
      .on(sql.raw(`seq >> ${SHARE_BITS}`), sql.raw('substr(request_id, -4)'))
      .where(sql`source = 'webhook'`),
    /** Corrections by reads. First sightings are left out: a catalogue full of them would be most of the index. */
    index('changes_corrected')
      .on(t.reason)
      .where(sql`source = 'read' AND reason <> 'first_read'`),
    /** Times come almost in order, so that a row's entry is beside the last one: in memory, and not half empty. */
    index('changes_recorded').on(t.recordedAtMs),
  ],
);

/** Dead letters: authentic input that was not understood, by its row in the inbox. */
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

/** What each item of a delivery did: the branches of the merge rule, in the order of the items, joined by `OUTCOME_SEPARATOR`. */
export const deliveries = sqliteTable('deliveries', {
  inboxSeq: integer('inbox_seq').primaryKey(),
  outcomes: text('outcomes').notNull(),
});

/** State that the rules keep besides the tables: `MirrorState` of core/model.ts. */
export const mirrorState = sqliteTable(
  'mirror_state',
  {
    id: integer('id').primaryKey(),
    appliedSeq: integer('applied_seq').notNull(),
    inboxSeq: integer('inbox_seq').notNull(),
    changeSeq: integer('change_seq').notNull(),
    storeId: text('store_id'),
    lastDeliveryAtMs: integer('last_delivery_at_ms'),
    offsetWindowStartMs: integer('offset_window_start_ms').notNull(),
    offsetFloorMs: integer('offset_floor_ms'),
    offsetFloorPreviousMs: integer('offset_floor_previous_ms'),
    offsetCeilingMs: integer('offset_ceiling_ms'),
    dateContradictions: integer('date_contradictions').notNull(),
    latenessMs: integer('lateness_ms').notNull(),
    trustedAfterMs: integer('trusted_after_ms').notNull(),
    bundlesDueAtMs: integer('bundles_due_at_ms'),
    removalWindowStartMs: integer('removal_window_start_ms').notNull(),
    removalsInWindow: integer('removals_in_window').notNull(),
    variantRemovalsInWindow: integer('variant_removals_in_window').notNull(),
    levelRemovalsInWindow: integer('level_removals_in_window').notNull(),
    removalsAllowedUntilMs: integer('removals_allowed_until_ms').notNull(),
  },
  () => [check('mirror_state_single', sql`id = 1`)],
);

/** How many live rows there are, so that they need not be counted. */
export const liveCounts = sqliteTable(
  'live_counts',
  {
    id: integer('id').primaryKey(),
    products: integer('products').notNull(),
    variants: integer('variants').notNull(),
    levels: integer('levels').notNull(),
  },
  () => [check('live_counts_single', sql`id = 1`)],
);

/** Live stock levels of each product that has had any: the levels that a suspect product makes suspect. */
export const productStockLevels = sqliteTable('product_stock_levels', {
  productId: text('product_id').primaryKey(),
  levels: integer('levels').notNull(),
});

/** State besides that of the rules. The heartbeat is the running mirror's own; inputs tell the rest. */
export const serviceState = sqliteTable(
  'service_state',
  {
    id: integer('id').primaryKey(),
    /** Identifies one history: consumers of the feed start over when it changes. */
    epoch: text('epoch').notNull(),
    /** The heartbeat: written every second while the mirror runs; null before that, in each epoch. */
    aliveAtMs: integer('alive_at_ms'),
    /** The mirror's own clock at that heartbeat: after the host's clock was set back, the two differ. */
    clockMs: integer('clock_ms'),
    /** When the catalogue was last read whole in this epoch. */
    lastFullSyncAtMs: integer('last_full_sync_at_ms'),
    /** The last number of the pruned changes: a consumer below it would miss some. Zero: none were pruned. */
    prunedChangeSeq: integer('pruned_change_seq').notNull().default(0),
    /** The last heartbeat before the file was closed in order, or opened: nobody keeps it since. Null from the next heartbeat on. */
    stoppedAtMs: integer('stopped_at_ms'),
    /** Written by `backup`, and not started since. */
    isBackup: integer('is_backup').notNull().default(0),
    /** The inbox's epoch when this one began; null: its first. */
    inboxEpoch: text('inbox_epoch'),
  },
  () => [check('service_state_single', sql`id = 1`)],
);

/** Scans of the whole catalogue, or reads of named products. */
export const runs = sqliteTable(
  'runs',
  {
    id: integer('id').primaryKey({ autoIncrement: true }),
    kind: text('kind').notNull(),
    state: text('state').notNull(),
    startedAtMs: integer('started_at_ms').notNull(),
    finishedAtMs: integer('finished_at_ms'),
    /** Every product of the run must have been read by a read sent at or after this instant. */
    readAfterMs: integer('read_after_ms').notNull(),
    /** JSON array of ids; null: the whole catalogue. */
    productIdsJson: text('product_ids_json'),
    /** The position of the scan in the list; it continues from here after a restart. */
    listOffset: integer('list_offset').notNull(),
    listLastId: text('list_last_id'),
    listDone: integer('list_done').notNull(),
    /**
     * Log position when the scan began: products that it did not show and that are older than this are read as well.
     */
    startedSeq: integer('started_seq').notNull(),
    total: integer('total').notNull(),
    done: integer('done').notNull(),
    drift: integer('drift').notNull(),
    failed: integer('failed').notNull(),
    error: text('error'),
  },
  (t) => [
    index('runs_state').on(t.state),
    check('runs_state_known', isOneOf('state', RUN_STATES)),
    check('runs_kind_known', isOneOf('kind', RUN_KINDS)),
  ],
);

/** What the plots show of a minute (since 1970), by the names that the process gives its figures. It notes them for itself. */
export const minutes = sqliteTable('minutes', {
  minute: integer('minute').primaryKey(),
  figuresJson: text('figures_json').notNull(),
});

/** What the operator calls warehouses (`WAREHOUSE_NAMES`): written at each start. */
export const warehouseNames = sqliteTable('warehouse_names', {
  warehouseId: text('warehouse_id').primaryKey(),
  name: text('name').notNull(),
});

/** Products whose reads the store refuses, or that kept failing, until one succeeds. They are tried, but nothing waits for them. */
export const givenUpReads = sqliteTable('given_up_reads', { productId: text('product_id').primaryKey() });

/**
 * Reads that failed, until one succeeds: when to try again. Parked: refused by the store, so not before a schedule or
 * an operator asks for it.
 */
export const readFailures = sqliteTable(
  'read_failures',
  {
    productId: text('product_id').primaryKey(),
    /** Failures in a row, or since the read was last asked for anew. */
    attempts: integer('attempts').notNull(),
    /**
     * Of these and earlier ones: failures that came although the store had answered something since the one before.
     */
    faults: integer('faults').notNull(),
    nextAtMs: integer('next_at_ms').notNull(),
    parked: integer('parked').notNull(),
    error: text('error').notNull(),
    failedAtMs: integer('failed_at_ms').notNull(),
  },
  (t) => [index('read_failures_next').on(t.nextAtMs)],
);
