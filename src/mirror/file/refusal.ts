/** Why the mirror's file cannot be used. */
import type { StoreError } from '../../sqlite/errors.ts';

/** Why the mirror could not be opened, or must be opened again. */
export interface Refusal {
  readonly isDamaged: boolean;
  readonly error: StoreError;
}
