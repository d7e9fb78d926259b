/** What a thread answers. */
import type { PlainError } from './errors.ts';

/** The answer to one request. */
export type Outcome =
  | { readonly id: number; readonly ok: true; readonly value: unknown }
  | { readonly id: number; readonly ok: false; readonly error: PlainError };
