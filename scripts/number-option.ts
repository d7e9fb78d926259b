/** Values of the scripts' options. */
import { InvalidArgumentError } from 'commander';

export function numberFromZero(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value) || value < 0) {
    throw new InvalidArgumentError('give a number from 0 on');
  }
  return value;
}

export function positiveNumber(text: string): number {
  const value = numberFromZero(text);
  if (value === 0) throw new InvalidArgumentError('give a positive number');
  return value;
}
