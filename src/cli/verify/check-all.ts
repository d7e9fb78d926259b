/** Checks products several times: a change may be in transit, so one difference proves nothing. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isFinal, ServiceError } from '../../store-api/transport/errors.ts';
import { compare, type DifferingValue, type Difference, type ProductReading } from './compare.ts';

export interface Verdict {
  readonly products: number;
  readonly totals: number;
  readonly levels: number;
  /** Differed twice while neither side changed. */
  readonly drift: readonly DifferingValue[];
  /** Differed at every check, and changed between them. */
  readonly undecided: readonly DifferingValue[];
  readonly unread: readonly { readonly product_id: string; readonly error: string }[];
}

interface CheckDeps {
  readonly read: (productId: string) => Promise<ProductReading>;
  readonly concurrency: number;
  /** The user named the products, so one that neither side has is an error. */
  readonly isNamed: boolean;
  readonly onProgress: (done: number, drift: number) => void;
  readonly signal: AbortSignal;
}

/** Longer than the replicas' lag (2 s) and a webhook's transit. */
const AGAIN_AFTER_MS = 3_000;
const MAX_CHECKS = 6;
const MAX_FAILURES = 6;
/** Other failures would also affect further requests. */
const OF_ONE_PRODUCT: ReadonlySet<string> = new Set([
  'rejected',
  'too_large',
  'contract',
  'unavailable',
  'rate_limited',
]);

interface Check {
  readonly productId: string;
  readonly failures: number;
  /** The differences of each earlier check. */
  readonly earlier: readonly (readonly Difference[])[];
}

type Result =
  | { readonly kind: 'unread'; readonly productId: string; readonly error: string }
  | ({ readonly kind: 'compared' } & Pick<Verdict, 'totals' | 'levels' | 'drift' | 'undecided'>);

type Outcome = Result | { readonly kind: 'again'; readonly check: Check };

/**
 * Checks all products, then in further rounds those whose check must be repeated.
 * @throws ServiceError if further requests would fail too; Error for another store; the signal's reason.
 */
export async function checkAll(deps: CheckDeps, productIds: readonly string[]): Promise<Verdict> {
  const { concurrency, onProgress, signal } = deps;
  const results: Result[] = [];
  let drift = 0;
  let round = productIds.map((productId): Check => ({ productId, failures: 0, earlier: [] }));
  while (round.length > 0) {
    const again: Check[] = [];
    const waiting = round.values();
    const work = async (): Promise<void> => {
      for (const check of waiting) {
        signal.throwIfAborted();
        const outcome = await outcomeOf(check, deps);
        if (outcome.kind === 'again') again.push(outcome.check);
        else {
          results.push(outcome);
          if (outcome.kind === 'compared') drift += outcome.drift.length;
          onProgress(results.length, drift);
        }
      }
    };
    await Promise.all(Array.from({ length: concurrency }, work));
    round = again;
    if (round.length > 0) await sleep(AGAIN_AFTER_MS, undefined, { signal });
  }
  return verdictOf(results);
}

async function outcomeOf(check: Check, { read, isNamed }: CheckDeps): Promise<Outcome> {
  const { productId } = check;
  let reading;
  try {
    reading = await read(productId);
  } catch (error) {
    if (!(error instanceof ServiceError) || !OF_ONE_PRODUCT.has(error.kind)) throw error;
    const failures = check.failures + 1;
    if (isFinal(error) || failures === MAX_FAILURES) {
      return { kind: 'unread', productId, error: error.message };
    }
    return { kind: 'again', check: { ...check, failures } };
  }
  if (isNamed && reading.answer === null && reading.before.size + reading.after.size === 0) {
    return { kind: 'unread', productId, error: 'neither the store nor the mirror has it' };
  }
  return judge(check, compare(productId, reading));
}

/** Decides which differences count, or that another check is needed. */
function judge(check: Check, { totals, levels, differences }: ReturnType<typeof compare>): Outcome {
  const { earlier } = check;
  const isDrift = ({ fingerprint }: Difference): boolean =>
    fingerprint !== null && earlier.at(-1)?.some((before) => before.fingerprint === fingerprint) === true;
  const open = differences.filter((difference) => !isDrift(difference));
  if (open.length > 0 && earlier.length + 1 < MAX_CHECKS) {
    return { kind: 'again', check: { ...check, earlier: [...earlier, differences] } };
  }
  const neverEqual = open.filter(({ key }) =>
    earlier.every((before) => before.some((difference) => difference.key === key)),
  );
  return {
    kind: 'compared',
    totals,
    levels,
    drift: differences.filter(isDrift).map(({ value }) => value),
    undecided: neverEqual.map(({ value }) => value),
  };
}

function verdictOf(results: readonly Result[]): Verdict {
  const compared = results.filter((result) => result.kind === 'compared');
  const unread = results.filter((result) => result.kind === 'unread');
  return {
    products: results.length,
    totals: compared.reduce((sum, { totals }) => sum + totals, 0),
    levels: compared.reduce((sum, { levels }) => sum + levels, 0),
    drift: compared.flatMap(({ drift }) => drift),
    undecided: compared.flatMap(({ undecided }) => undecided),
    unread: unread.map(({ productId, error }) => ({ product_id: productId, error })),
  };
}
