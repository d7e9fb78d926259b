import { CommanderError, InvalidArgumentError } from 'commander';
import { EXIT } from './exit-codes.ts';

export function whole(min: number, max: number): (value: string) => number {
  return checked(/^-?\d+$/, `a whole number from ${min} to ${max}`, min, max);
}

export function decimal(min: number, max: number): (value: string) => number {
  return checked(/^\d+(\.\d+)?$/, `a number from ${min} to ${max}`, min, max);
}

function checked(form: RegExp, what: string, min: number, max: number): (value: string) => number {
  return (value) => {
    const number = Number(value);
    if (form.test(value) && number >= min && number <= max) return number;
    throw new InvalidArgumentError(`It must be ${what}.`);
  };
}

export function productIds(value: string, previous: string[] = []): string[] {
  if (/^[0-9]+$/.test(value)) return [...previous, value];
  throw new InvalidArgumentError('An id consists of digits.');
}

export function webUrl(value: string): string {
  if (value.includes('@')) {
    // commander would print the value of an InvalidArgumentError.
    process.stderr.write('error: an address must not contain credentials or another @\n');
    throw new CommanderError(EXIT.usage, 'stock-mirror.credentials', '');
  }
  if (/^https?:\/\//i.test(value) && URL.canParse(value)) return value;
  throw new InvalidArgumentError('It must be an address such as https://mirror.example/webhooks.');
}
