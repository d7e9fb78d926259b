/** Which variants may have suspect rows, as long as they are few. */
import type { Db } from '../../sqlite/open.ts';
import { prepared } from '../../sqlite/prepared.ts';
import { GROUNDS } from '../file/suspicion.ts';

export interface Candidate {
  readonly k1: string | number;
  readonly k2: number;
  /** Null: the ground names a product without variants, or a re-read request without suspicion. */
  readonly variantId: string | null;
}

/** Beyond this many the mirror is searched row by row: that soon shows some. */
const FEW = 2_000;

/** @returns all variants that may be under suspicion, in the order of their ids; null: too many. */
export function fewSuspects(db: Db): readonly string[] | null {
  const found = new Set<string>();
  let looked = 0;
  for (const { candidates, first } of GROUNDS) {
    const [k1, k2] = first;
    for (const { variantId } of prepared<object, Candidate>(db, candidates).iterate({
      k1,
      k2,
      variantId: '',
    })) {
      if (looked === FEW) return null;
      looked += 1;
      if (variantId !== null) found.add(variantId);
    }
  }
  return [...found].toSorted(inOrderOfBytes);
}

/** As SQLite orders texts. */
function inOrderOfBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
