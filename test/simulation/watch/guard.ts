/** A mass removal needs an operator (docs/architecture.md#mass-removal-guard). */
import { GUARD_QUANTITIES, GUARD_SHARE, GUARD_WINDOW_MS } from '../../../src/core/limits.ts';
import { prepared } from '../../shared/prepared.ts';
import type { Db } from '../../../src/sqlite/open.ts';
import type { Gone } from './promises.ts';

export class GuardWatch {
  readonly #fault: (what: string) => void;
  /** Stock levels of products that reads have shown, whatever took them away. */
  #removed = new Map<string, Gone>();
  isAllowed = false;

  constructor(fault: (what: string) => void) {
    this.#fault = fault;
  }

  allow(): void {
    this.isAllowed = true;
  }

  restore(): void {
    this.#removed.clear();
  }

  removed(db: Db, gone: Gone): void {
    const { what, gone_at_ms: atMs } = gone;
    if (what !== 'level') return;
    this.#removed.set(JSON.stringify(gone), gone);
    if (this.isAllowed) return;
    const count = [...this.#removed.values()].filter(
      (row) => row.gone_at_ms <= atMs && row.gone_at_ms > atMs - GUARD_WINDOW_MS / 2,
    ).length;
    const countLive = prepared<[], number>(db, 'SELECT count(*) FROM stock_levels WHERE gone_at_ms IS NULL');
    const live = countLive.pluck().get() ?? 0;
    if (count > GUARD_QUANTITIES && count > (live + count) * GUARD_SHARE) {
      this.#fault(`${count} of ${live + count} stock levels were removed without an operator’s decision`);
    }
    // A variant that loses all of its levels is sold by its total.
    const isAnyLeft = prepared<[], number>(db, 'SELECT EXISTS (SELECT 1 FROM mirror_sellable)').pluck().get();
    if (isAnyLeft === 0 && count > 1)
      this.#fault(`all ${count} stock levels were removed without an operator’s decision`);
  }
}
