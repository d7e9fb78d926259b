/** All mutants, by the part of the rules that they break, and what was left out of them. */
import { CHANGE } from './list/change.ts';
import { CLOCK } from './list/clock.ts';
import { READ_REQUEST } from './list/read-request.ts';
import { DURABILITY } from './list/durability.ts';
import { FEED } from './list/feed.ts';
import { FRESHNESS } from './list/freshness.ts';
import { READ } from './list/read.ts';
import { READING } from './list/reading.ts';
import { REMOVAL } from './list/removal.ts';
import type { Mutant } from './mutant.ts';

export const MUTANTS: readonly Mutant[] = [
  ...CHANGE,
  ...READ,
  ...READ_REQUEST,
  ...CLOCK,
  ...REMOVAL,
  ...FEED,
  ...READING,
  ...DURABILITY,
  ...FRESHNESS,
];

/** A change of the source that no test can distinguish from the rule. */
export interface Equivalent {
  readonly change: string;
  readonly why: string;
}

export const EQUIVALENT: readonly Equivalent[] = [];
