/** Exact decimal amounts: binary fractions would make 0.1 + 0.2 differ from 0.3. */

/** `digits` / 10^`scale`. */
interface Amount {
  readonly digits: bigint;
  readonly scale: number;
}

/** From a number or numeric string, the forms of money in requests ("Conventions" 3). */
export function amountOf(money: number | string): Amount {
  const [whole = '', fraction = ''] = (typeof money === 'string' ? money : plain(money)).split('.');
  return { digits: BigInt(whole + fraction), scale: fraction.length };
}

export function sum(amounts: readonly Amount[]): Amount {
  const scale = Math.max(0, ...amounts.map((amount) => amount.scale));
  const digits = amounts.reduce(
    (total, amount) => total + amount.digits * 10n ** BigInt(scale - amount.scale),
    0n,
  );
  return { digits, scale };
}

export function times(amount: Amount, factor: number): Amount {
  return { digits: amount.digits * BigInt(factor), scale: amount.scale };
}

/** A decimal string with at least two places ("Conventions" 3). */
export function moneyText({ digits, scale }: Amount): string {
  const negative = digits < 0n;
  const text = String(negative ? -digits : digits).padStart(scale + 1, '0');
  const whole = text.slice(0, text.length - scale);
  const fraction = text.slice(text.length - scale).replace(/0+$/, '');
  return `${negative ? '-' : ''}${whole}.${fraction.padEnd(2, '0')}`;
}

/** A number without an exponent. */
function plain(value: number): string {
  const text = String(value);
  if (!text.includes('e')) return text;
  return Math.abs(value) >= 1 ? String(BigInt(value)) : value.toFixed(20);
}
