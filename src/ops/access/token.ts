import { createHash, timingSafeEqual } from 'node:crypto';

/** Compares with the token in constant time, whatever the lengths. */
export type IsToken = (text: string) => boolean;

export function compareWith(token: string): IsToken {
  const expected = digest(token);
  return (text) => timingSafeEqual(digest(text), expected);
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
