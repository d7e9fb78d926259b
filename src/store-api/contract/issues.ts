import type { z } from 'zod';

interface Wording {
  /** How many issues are named; the others are counted. Default 1. */
  readonly most?: number;
  /** The place of the checked value. */
  readonly within?: readonly PropertyKey[];
}

/** Names wrong fields as the store would: `products[1].qty: must be at least 1`. */
export function describeIssues({ issues }: z.ZodError, { most = 1, within = [] }: Wording = {}): string {
  if (issues.length === 0) return 'it has another shape than the contract says';
  const named = issues.slice(0, most).map((issue) => describeIssue(issue, [...within, ...issue.path]));
  const more = issues.length - named.length;
  return `${named.join('; ')}${more > 0 ? ` (and ${more} more)` : ''}`;
}

function describeIssue(issue: z.core.$ZodIssue, path: readonly PropertyKey[]): string {
  if (issue.code === 'unrecognized_keys') {
    return `${issue.keys.map((key) => nameOf([...path, key])).join(', ')}: unknown field`;
  }
  return path.length === 0 ? issue.message : `${nameOf(path)}: ${issue.message}`;
}

function nameOf(path: readonly PropertyKey[]): string {
  return path
    .map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`))
    .join('')
    .replace(/^\./, '');
}
