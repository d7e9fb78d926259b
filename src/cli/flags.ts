/** Strict numbers on the command line: what is not one is named with the accepted range. */
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
