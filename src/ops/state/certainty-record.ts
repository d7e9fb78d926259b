/** Notes in the mirror how certain its stock levels were, so that a restart does not forget it. */
import type { StoreWriter } from '../../mirror/writer/store-writer.ts';
import { QUARTER_MS } from '../../mirror/queries/certainty.ts';
import type { Certainty } from '../condition/condition.ts';

export class CertaintyRecord {
  readonly #writer: Pick<StoreWriter, 'command'>;
  /** What is noted of the present quarter, its worst. */
  #noted: { readonly quarter: number; readonly share: number } | null = null;

  constructor(writer: Pick<StoreWriter, 'command'>) {
    this.#writer = writer;
  }

  note({ share, certain, levels }: Certainty, atMs: number): void {
    if (share === null) return;
    const quarter = Math.floor(atMs / QUARTER_MS);
    if (this.#noted?.quarter === quarter && this.#noted.share <= share) return;
    this.#noted = { quarter, share };
    this.#writer.command('noteCertainty', { quarter, certain, levels }).catch(() => {
      // The tables cannot be written at present; the next sample tries again.
      this.#noted = null;
    });
  }
}
