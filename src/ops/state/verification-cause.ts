import { EARLIEST_MS } from '../../core/limits.ts';
import type { VerificationBound } from '../../core/verification-bound.ts';
import { causeOf, type Cause } from './causes.ts';

const HOUR_MS = 60 * 60_000;

/** A tenth later than the bound, rows are not trusted any more. */
const UNCHECKED_AFTER = 1.1;

/** @returns the instant, own clock, before which evidence is too old; nothing is if nothing is verified by schedule. */
export function checkedSinceMs(nowMs: number, bound: VerificationBound | null): number {
  return bound === null ? EARLIEST_MS : nowMs - toleratedMs(bound);
}

function toleratedMs({ withinMs }: VerificationBound): number {
  return Math.round(UNCHECKED_AFTER * withinMs);
}

interface Verified {
  readonly products: number;
  readonly oldestReadAtMs: number | null;
}

/** null while every product is read in time, and the rate suffices for that. */
export function verificationCause(
  { products, oldestReadAtMs }: Verified,
  bound: VerificationBound,
  { nowMs, isBlocked }: { readonly nowMs: number; readonly isBlocked: boolean },
): Cause | null {
  const isUnchecked = oldestReadAtMs !== null && oldestReadAtMs < checkedSinceMs(nowMs, bound);
  const arithmetic = arithmeticOf(products, bound);
  if (!isUnchecked && arithmetic === null) return null;
  const since = isUnchecked ? oldestReadAtMs + toleratedMs(bound) : null;
  return causeOf('unchecked', since, {
    because: arithmetic ?? (isBlocked ? ': the store cannot be read' : ''),
  });
}

/** null if the rate suffices to read every product within the bound. */
function arithmeticOf(products: number, { withinMs, maxReadsPerSecond }: VerificationBound): string | null {
  const neededMs = (products / maxReadsPerSecond) * 1_000;
  if (neededMs <= withinMs) return null;
  const least = (maxReadsPerSecond * neededMs) / withinMs;
  return (
    `: ${products.toLocaleString('en')} products at ${decimal(maxReadsPerSecond)} reads a second, ` +
    `a fifth of SERVICE_MAX_RPS, take ${decimal(neededMs / HOUR_MS)} h, not ${decimal(withinMs / HOUR_MS)} h; ` +
    `${decimal(least)} reads a second would suffice`
  );
}

/** Rounded up, so that a value that does not suffice is never shown as the one that does. */
function decimal(value: number): string {
  return (Math.ceil(value * 10 - 1e-9) / 10).toLocaleString('en');
}
