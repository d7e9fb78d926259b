/**
 * What keeps the mirror from being right, or an operator from believing it: each cause with whose it is, what it means
 * for the figures, and what to do. Page, `status`, `doctor`, API, metrics and log output say it in these words.
 */

/** In the order of urgency: where several hold, the first one is the headline. */
export const CAUSE_KINDS = [
  'stopped',
  'not_kept_up',
  'no_room',
  'cannot_store',
  'tables_locked',
  'tables_stuck',
  'wrong_store',
  'credentials',
  'store_down',
  'not_the_store',
  'refused_products',
  'held_removals',
  'overdue',
  'rate_limited',
  'clock_wrong',
  'growing_doubt',
  'turned_away',
  'misdirected',
] as const;
export type CauseKind = (typeof CAUSE_KINDS)[number];

export const OWNERS = ['store', 'operator', 'host', 'network'] as const;
/** Who can end it. */
type Owner = (typeof OWNERS)[number];

export interface Cause {
  readonly kind: CauseKind;
  readonly owner: Owner;
  /** The headline: a sentence without its full stop, as are the two below. */
  readonly cause: string;
  /** What it means for the figures. */
  readonly figures: string;
  readonly remedy: string;
  /** Epoch ms; null: not known. */
  readonly since: number | null;
  /** When the mirror tries again by itself; null: not known, or not before a person acts. */
  readonly until: number | null;
}

const OWNER_WORDS: Readonly<Record<Owner, string>> = {
  store: 'The fault is the store’s',
  operator: 'The fault is in this mirror’s settings or its operation',
  host: 'The fault is this machine’s, or another program’s on it',
  network: 'The fault is on the way there: the network, or a proxy',
};

/** These leave the figures right, so that the mirror is not blocked by them. */
const NOTICES: ReadonlySet<CauseKind> = new Set<CauseKind>([
  'rate_limited',
  'clock_wrong',
  'growing_doubt',
  'turned_away',
  'misdirected',
]);
/** During these no row follows the store, so that none is certain. */
const STANDSTILLS: ReadonlySet<CauseKind> = new Set<CauseKind>([
  'stopped',
  'not_kept_up',
  'no_room',
  'cannot_store',
  'tables_locked',
  'tables_stuck',
]);

/** During these nothing is read from the store, so that nothing newer is verified. */
const READLESS: ReadonlySet<CauseKind> = new Set<CauseKind>([
  'wrong_store',
  'credentials',
  'store_down',
  'not_the_store',
]);

export const isBlocking = ({ kind }: Cause): boolean => !NOTICES.has(kind);
export const isStandstill = ({ kind }: Cause): boolean => STANDSTILLS.has(kind);
export const isReadless = ({ kind }: Pick<Cause, 'kind'>): boolean => READLESS.has(kind);

export function ownerWords({ owner }: Pick<Cause, 'owner'>): string {
  return OWNER_WORDS[owner];
}

/** All of it as one line. */
export function causeLine({
  cause,
  owner,
  figures,
  remedy,
}: Omit<Cause, 'kind' | 'since' | 'until'>): string {
  return `${cause}. ${OWNER_WORDS[owner]}. ${capital(figures)}. What to do: ${remedy}`;
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
