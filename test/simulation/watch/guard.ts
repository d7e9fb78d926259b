/** A mass removal needs an operator (docs/architecture.md#mass-removal-guard). */
import { GUARD_ROWS, GUARD_SHARE, GUARD_WINDOW_MS, EARLIEST_MS } from '../../../src/core/limits.ts';
import { prepared } from '../../../src/sqlite/prepared.ts';
import type { Db } from '../../../src/sqlite/open.ts';
import type { Gone } from './promises.ts';

const TABLES = { product: 'products', variant: 'variants', level: 'stock_levels' } as const;

export class GuardWatch {
  readonly #fault: (what: string) => void;
  #removed = new Map<string, Gone>();
  #isAllowed = false;

  constructor(fault: (what: string) => void) {
    this.#fault = fault;
  }

  allow(): void {
    this.#isAllowed = true;
  }

  restore(): void {
    this.#removed.clear();
  }

  removed(db: Db, gone: Gone): void {
    const { what: kind, gone_at_ms: atMs } = gone;
    this.#removed.set(JSON.stringify(gone), gone);
    if (this.#isAllowed) return;
    const count = [...this.#removed.values()].filter(
      (row) => row.what === kind && row.gone_at_ms <= atMs && row.gone_at_ms > atMs - GUARD_WINDOW_MS / 2,
    ).length;
    const table = TABLES[kind];
    const countLive = (where: string): number =>
      prepared<[], number>(db, `SELECT count(*) FROM ${table} WHERE gone_at_ms IS NULL${where}`)
        .pluck()
        .get() ?? 0;
    const live = countLive('');
    if (count > GUARD_ROWS && count > (live + count) * GUARD_SHARE) {
      this.#fault(`${count} ${table} of ${live + count} were removed and nobody allowed it`);
    }
    const shown = kind === 'product' ? countLive(` AND read_at_ms > ${EARLIEST_MS}`) : live;
    if (shown === 0 && count > 1) this.#fault(`all ${count} ${table} were removed and nobody allowed it`);
  }
}
