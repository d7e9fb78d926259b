/** Codes of the mirror in plain words. What has no words here is shown as it is. */

const REASONS: Readonly<Record<string, string>> = {
  operator: 'you asked for it',
  unmapped: 'its variant was unknown',
  conflict: 'changes and reads contradict each other',
  derived: 'its total moved without a webhook of its own',
  confirm_removal: 'the service no longer shows it, which a second read must confirm',
  quarantine: 'a delivery about it was not understood',
  not_stored: 'a delivery about it could not be stored',
  canary: 'a delivery was lost, which may have been about it too',
  bundle: 'a part of it has moved',
  listed: 'the catalogue shows it, and it was never read',
  absent: 'the catalogue no longer shows it',
  stale: 'its turn has come',
};

export function reasonWords(reason: string): string {
  return REASONS[reason] ?? reason;
}

const CAUSES: Readonly<Record<string, { readonly name: string; readonly words: string }>> = {
  gap: { name: 'Lost delivery', words: 'a later change proved that one before it never came' },
  lost_tail: { name: 'Lost last delivery', words: 'no later change could prove it; a read found it' },
  downtime: { name: 'Downtime', words: 'it changed while nobody listened' },
  conflict: { name: 'Contradiction', words: 'the order of changes could not be told' },
  derived: { name: 'Derived', words: 'a bundle moves with its parts: that is no fault' },
  removed: { name: 'Removed', words: 'the service no longer has it' },
  restored: { name: 'Came back', words: 'the service shows it again' },
  first_read: { name: 'First read', words: 'the mirror had not known it' },
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
  not_stored: 'not committed in time; what it was about is read',
  no_room: 'too many bodies on their way at once',
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
