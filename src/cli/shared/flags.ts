/** Strict values on the command line: a refusal names what is accepted. */
import { InvalidArgumentError } from 'commander';

export function whole(min: number, max: number): (value: string) => number {
  return (value) => {
    if (!/^-?\d+$/.test(value) || Number(value) < min || Number(value) > max) {
      throw new InvalidArgumentError(`It takes a whole number from ${min} to ${max}.`);
    }
    return Number(value);
  };
}

export function decimal(min: number, max: number): (value: string) => number {
  return (value) => {
    if (!/^\d+(\.\d+)?$/.test(value) || Number(value) < min || Number(value) > max) {
      throw new InvalidArgumentError(`It takes a number from ${min} to ${max}.`);
    }
    return Number(value);
  };
}

/** Collects the ids of an option that takes several of them and may be given several times. */
export function productIds(value: string, previous: string[] | undefined): string[] {
  if (!/^[0-9]+$/.test(value)) throw new InvalidArgumentError('A product id has digits only.');
  return [...(previous ?? []), value];
}
