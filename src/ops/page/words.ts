/** Codes of the mirror in plain words. An unknown code is shown as it is. */

const REASONS: Readonly<Record<string, string>> = {
  operator: 'an operator asked for it',
  unmapped: 'a webhook named an unknown variant of it',
  conflict: 'deliveries and reads contradict each other',
  derived: 'its total changes without a webhook of its own',
  confirm_removal: 'the store no longer shows it, which a second read must confirm',
  quarantine: 'a delivery about it was not understood',
  not_stored: 'a delivery about it could not be stored',
  canary: 'a delivery was lost that may have changed it too',
  bundle: 'the stock of a component changed',
  listed: 'the catalogue lists it, but it was never read',
  stale: 'its last read is the oldest',
};

export function reasonWords(reason: string): string {
  return REASONS[reason] ?? reason;
}

const CAUSES: Readonly<Record<string, { readonly name: string; readonly words: string }>> = {
  gap: { name: 'Lost delivery', words: 'a later change proved that an earlier one never arrived' },
  lost_tail: { name: 'Lost last delivery', words: 'no later change proved the loss; a read found it' },
  downtime: { name: 'Downtime', words: 'it changed while the mirror was down' },
  conflict: { name: 'Contradiction', words: 'the order of the changes was ambiguous' },
  derived: { name: 'Derived', words: 'a bundle’s total follows its components: no fault' },
  removed: { name: 'Removed', words: 'the store no longer has it' },
  restored: { name: 'Restored', words: 'the store shows it again' },
  first_read: { name: 'First read', words: 'it was new to the mirror' },
};

export function causeName(cause: string): string {
  return CAUSES[cause]?.name ?? cause;
}

export function causeWords(cause: string): string {
  return CAUSES[cause]?.words ?? '';
}

const REJECTED: Readonly<Record<string, string>> = {
  missing_signature: 'no signature',
  malformed_signature: 'a signature that is not 64 lowercase hex digits',
  wrong_signature: 'a signature that does not fit the body',
  too_large: 'a body over 1 MB',
  not_stored: 'not committed in time; the products it names are read instead',
  no_room: 'too many bodies in transfer at once',
};

export function rejectionWords(reason: string): string {
  return REJECTED[reason] ?? reason;
}

const RUNS: Readonly<Record<string, string>> = {
  initial: 'First read of the catalogue',
  downtime: 'After downtime',
  restart: 'After a restart',
  scheduled: 'Scheduled',
  operator: 'Full resync',
  products: 'Single products',
};

export function runName(kind: string): string {
  return RUNS[kind] ?? kind;
}
