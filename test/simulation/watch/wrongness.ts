/** How long values are wrong, and how long without suspicion. */
import type { SimulatedService } from '../../../src/sandbox/sandbox.ts';
import { prepared } from '../../shared/prepared.ts';
import type { Db } from '../../../src/sqlite/open.ts';

export interface Wrongness {
  readonly levelMs: number;
  readonly wrongMs: number;
  readonly wrongTrustedMs: number;
}

export class WrongnessMeter {
  #levelMs = 0;
  #wrongMs = 0;
  #wrongTrustedMs = 0;

  sample(db: Db, service: SimulatedService, forMs: number): void {
    const held = new Map(
      prepared<[], { key: string; qty: number; suspect: number }>(
        db,
        `SELECT variant_id || '/' || warehouse_id AS key, available_qty AS qty, suspect FROM mirror_stock`,
      )
        .all()
        .map((row) => [row.key, row]),
    );
    for (const level of service.truth.snapshot().levels) {
      if (level.kind === 'pulled') continue;
      this.#levelMs += forMs;
      const row = held.get(`${level.variantId}/${level.warehouseId}`);
      if (row?.qty === level.availableQty) continue;
      this.#wrongMs += forMs;
      if (row?.suspect === 0) this.#wrongTrustedMs += forMs;
    }
  }

  get total(): Wrongness {
    return { levelMs: this.#levelMs, wrongMs: this.#wrongMs, wrongTrustedMs: this.#wrongTrustedMs };
  }
}
