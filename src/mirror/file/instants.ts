/** The columns that hold instants of the own clock. Store time (`event_time_ms`, `read_lo_ms`, …) is not among them. */
import { HELD_MS } from '../../core/limits.ts';
import type { Db } from '../../sqlite/open.ts';

const OWN_INSTANTS: Readonly<Record<string, readonly string[]>> = {
  stock_levels: [
    'as_of_ms',
    'event_at_ms',
    'read_at_ms',
    'verified_at_ms',
    'on_hand_as_of_ms',
    'missing_at_ms',
    'gone_at_ms',
  ],
  variants: ['as_of_ms', 'verified_at_ms', 'event_at_ms', 'missing_at_ms', 'gone_at_ms', 'lookup_at_ms'],
  products: ['read_at_ms', 'read_until_ms', 'evidence_at_ms', 'missing_at_ms', 'gone_at_ms'],
  gaps: ['opened_at_ms', 'due_at_ms'],
  changes: ['recorded_at_ms'],
  dead_letters: ['arrived_at_ms'],
  runs: ['started_at_ms', 'finished_at_ms', 'read_after_ms'],
  mirror_state: [
    'last_delivery_at_ms',
    'unreadable_at_ms',
    'trusted_after_ms',
    'bundles_due_at_ms',
    'bundles_made_at_ms',
    'listed_from_ms',
    'removal_window_start_ms',
    'way_in_since_ms',
    'last_webhook_at_ms',
  ],
  service_state: ['checked_since_ms'],
};

/**
 * Sets every instant after `afterMs` to `nowMs`: it was stamped by a clock that was ahead. The bounds between
 * store time and own time, which were learnt with that clock, are forgotten. Does nothing else while no
 * instant is in the future.
 */
export function bringInstantsBack(db: Db, afterMs: number, nowMs: number): void {
  const clockMs = db.prepare<[], number | null>('SELECT clock_ms FROM service_state').pluck().get() ?? null;
  if (clockMs === null || clockMs <= afterMs) return;
  for (const [table, columns] of Object.entries(OWN_INSTANTS)) {
    const sets = columns.map((column) => `${column} = min(${column}, @nowMs)`).join(', ');
    const isAhead = columns.map((column) => `${column} > @nowMs`).join(' OR ');
    db.prepare(`UPDATE ${table} SET ${sets} WHERE ${isAhead}`).run({ nowMs });
  }
  // Held requests wait for an operator, not for an instant.
  db.prepare(
    `
    UPDATE due_reads SET
      made_at_ms = min(made_at_ms, @nowMs),
      first_made_at_ms = min(first_made_at_ms, @nowMs),
      not_before_ms = iif(not_before_ms = @heldMs, not_before_ms, min(not_before_ms, @nowMs))`,
  ).run({
    nowMs,
    heldMs: HELD_MS,
  });
  db.prepare(
    `
    UPDATE mirror_state SET
      offset_window_start_ms = @nowMs,
      offset_floor_ms = NULL,
      offset_floor_previous_ms = NULL,
      offset_ceiling_ms = NULL,
      date_contradictions = 0`,
  ).run({ nowMs });
}
