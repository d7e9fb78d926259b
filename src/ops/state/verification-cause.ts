import { causeOf, type Cause } from './causes.ts';

/** The bound of scheduled reads, and the rate that they may use. */
export interface VerificationBound {
  readonly withinMs: number;
  readonly maxReadsPerSecond: number;
}

const HOUR_MS = 60 * 60_000;

/** null if the rate suffices to read every product within the bound. */
export function verificationCause(
  products: number,
  { withinMs, maxReadsPerSecond }: VerificationBound,
): Cause | null {
  const neededMs = (products / maxReadsPerSecond) * 1_000;
  if (neededMs <= withinMs) return null;
  const least = (maxReadsPerSecond * neededMs) / withinMs;
  return causeOf('verify_overdue', null, {
    arithmetic:
      `: ${products.toLocaleString('en')} products at ${decimal(maxReadsPerSecond)} reads a second, ` +
      `a fifth of SERVICE_MAX_RPS, take ${decimal(neededMs / HOUR_MS)} h, not ${decimal(withinMs / HOUR_MS)} h; ` +
      `${decimal(least)} reads a second would suffice`,
  });
}

/** Rounded up, so that a value that does not suffice is never shown as the one that does. */
function decimal(value: number): string {
  return (Math.ceil(value * 10 - 1e-9) / 10).toLocaleString('en');
}
