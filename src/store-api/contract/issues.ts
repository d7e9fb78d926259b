import type { z } from 'zod';

interface Wording {
  /** How many issues are named; the others are counted. Default 1. */
  readonly most?: number;
  /** The place of the checked value. */
  readonly within?: readonly PropertyKey[];
  /** The word for a key of the checked value; by default `field`. */
  readonly key?: 'field' | 'parameter';
  /** Names the whole checked value; by default, a problem of the whole is shown without a name. */
  readonly whole?: string;
}

/** Names wrong fields as the store would: `products[1].qty: must be at least 1`. */
export function describeIssues({ issues }: z.ZodError, wording: Wording = {}): string {
  const { most = 1 } = wording;
  if (issues.length === 0) return 'it has another shape than the contract says';
  const named = issues.slice(0, most).map((issue) => describeIssue(issue, wording));
  const more = issues.length - named.length;
  return `${named.join('; ')}${more > 0 ? ` (and ${more} more)` : ''}`;
}

function describeIssue(
  issue: z.core.$ZodIssue,
  { within = [], key: kind = 'field', whole = '' }: Wording,
): string {
  const path = [...within, ...issue.path];
  if (issue.code === 'unrecognized_keys') {
    return `${issue.keys.map((key) => nameOf([...path, key])).join(', ')}: unknown ${kind}`;
  }
  const name = path.length === 0 ? whole : nameOf(path);
  return name === '' ? issue.message : `${name}: ${issue.message}`;
}

function nameOf(path: readonly PropertyKey[]): string {
  return path
    .map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`))
    .join('')
    .replace(/^\./, '');
}
