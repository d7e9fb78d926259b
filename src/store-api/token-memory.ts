import type { TokenFile, TokenState } from './token/token-file.ts';

/** For a program that shares its token with no other one, and forgets it when it ends. */
export function createTokenMemory(): TokenFile {
  let kept: TokenState | null = null;
  return {
    read: () => Promise.resolve(kept),
    write: (state) => {
      kept = state;
      return Promise.resolve();
    },
  };
}
