/** The mirror's codes in plain words. Codes of other versions are shown as they are. */
import { DRIFT_REASONS, type ReadReason } from '../../core/drift-reasons.ts';
import type { Reason, READ_FAILED } from '../../core/reasons.ts';
import { countDifferences, type Differences, type RunKind } from '../../core/runs.ts';
import { MOST_COUNTED } from '../../mirror/file/suspicion.ts';
import type { FullRead } from '../../mirror/queries/status.ts';
import { counted, duration } from '../../platform/amounts.ts';
import type { Sellable } from '../../mirror/queries/suspects.ts';

/** Reasons of read requests. */
const REQUEST_REASON_WORDS: Readonly<Record<Reason | typeof READ_FAILED, string>> = {
  operator: 'an operator requested it',
  unmapped: 'a webhook named an unknown variant of it',
  conflict: 'deliveries and reads contradict each other',
  derived: 'its total may lack a change',
  confirm_removal: 'the store no longer shows it, and a second read must confirm that',
  dead_letter: 'a delivery about it was not understood',
  not_stored: 'a delivery about it could not be stored',
  bundle: 'the stock of a component changed',
  component: 'a variant of it changed that a new bundle may contain',
  listed: 'the catalogue lists it, and it was never read',
  read_failed: 'its last read failed',
};

export function requestReasonWords(reason: string): string {
  return found(REQUEST_REASON_WORDS, reason) ?? reason;
}

/** Probable reasons of changes that a read made. */
const READ_REASON_WORDS: Readonly<Record<ReadReason, { readonly name: string; readonly words: string }>> = {
  gap: { name: 'Lost delivery', words: 'a later change proved that an earlier one never arrived' },
  lost_tail: { name: 'Lost last delivery', words: 'a read found it, since no later change arrived' },
  downtime: { name: 'Downtime', words: 'it changed while the mirror was down' },
  order: {
    name: 'Order',
    words: 'changes of one instant, or a change and a read, had no certain order; nothing was lost',
  },
  conflict: { name: 'Contradiction', words: 'a webhook contradicted the quantity, or was not understood' },
  derived: { name: 'Derived', words: 'a bundle’s total follows its components, which is no fault' },
  removed: { name: 'Removed', words: 'the store no longer has it' },
  restored: { name: 'Restored', words: 'the store shows it again' },
  first_read: { name: 'First read', words: 'it was new to the mirror' },
};

export function readReasonName(reason: string): string {
  return found(READ_REASON_WORDS, reason)?.name ?? reason;
}

export function readReasonWords(reason: string): string {
  return found(READ_REASON_WORDS, reason)?.words ?? '';
}

const RUNS: Readonly<Record<RunKind, string>> = {
  initial: 'first read of the catalogue',
  downtime: 'after downtime',
  scheduled: 'scheduled reads of everything',
  search: 'search for unknown variants',
  operator: 'full resync',
  products: 'single products',
};

export function runName(kind: string): string {
  return found(RUNS, kind) ?? kind;
}

/** The number that the mirror is for: `104 of 108`. */
export function sellableWords({ total, trusted }: Sellable): string {
  const all = total.toLocaleString('en');
  return trusted === null
    ? `fewer than ${(total - MOST_COUNTED).toLocaleString('en')} of ${all}`
    : `${trusted.toLocaleString('en')} of ${all}`;
}

/** `2 differences corrected (lost delivery: 1, derived: 1)`. */
export function differenceWords(differences: Differences): string {
  const all = countDifferences(differences);
  if (all === 0) return 'all equal';
  const reasons = DRIFT_REASONS.flatMap((reason) => {
    const count = differences[reason];
    return count === undefined
      ? []
      : [`${readReasonName(reason).toLowerCase()}: ${count.toLocaleString('en')}`];
  });
  return `${counted(all, 'difference')} corrected (${reasons.join(', ')})`;
}

/** The proof that a full read leaves: `10,000 products, 31,204 values compared in 3 min, all equal`. */
export function fullReadWords({
  products,
  compared,
  by_reason: found,
  failed,
  took_ms: tookMs,
}: FullRead): string {
  const unread = failed === 0 ? '' : `, ${counted(failed, 'product')} could not be read`;
  return `${counted(products, 'product')}, ${counted(compared, 'value')} compared in ${duration(tookMs)}, ${differenceWords(found)}${unread}`;
}

function found<T>(words: Readonly<Record<string, T>>, code: string): T | undefined {
  return words[code];
}

export type WarehouseNames = ReadonlyMap<string, string>;

export function warehouseText(id: string, name: string | null | undefined): string {
  return `warehouse ${id}${name === undefined || name === null ? '' : `, ${name}`}`;
}
