/**
 * A proven loss: what else the lost delivery carried is unknown, so all that moves is read after it
 * (docs/architecture.md#loss-sweeps).
 */
import type { Fact } from '../../../src/core/apply/fact.ts';
import { LOSS_SWEEP_PRODUCTS, REPLICA_LAG_MS } from '../../../src/core/limits.ts';
import type { Gap, MirrorState } from '../../../src/core/model.ts';
import { prepared } from '../../../src/sqlite/prepared.ts';
import type { Db } from '../../../src/sqlite/open.ts';

const FORGOTTEN = `
  SELECT product_id FROM products p WHERE gone_at_ms IS NULL AND NOT (read_seq >= ? AND read_at_ms >= ?)
    AND NOT EXISTS (SELECT 1 FROM read_requests o WHERE o.product_id = p.product_id AND o.made_seq >= ?)`;

export class Losses {
  readonly #db: Db;
  readonly #fault: (what: string) => void;
  /** The last loss sweep, and how many products were live then. */
  #lossSweepSeq = 0;
  #liveCount = 0;

  /** @param db as it stands after each entry. */
  constructor(db: Db, fault: (what: string) => void) {
    this.#db = db;
    this.#fault = fault;
  }

  check(state: MirrorState, facts: readonly Fact[]): void {
    if (state.lossSweptSeq !== this.#lossSweepSeq) {
      this.#lossSweepSeq = state.lossSweptSeq;
      const live = prepared<[], number>(this.#db, 'SELECT count(*) FROM products WHERE gone_at_ms IS NULL');
      this.#liveCount = live.pluck().get() ?? 0;
    }
    for (const fact of facts) if (fact.kind === 'gap_proved') this.#checkLoss(fact.gap);
  }

  #checkLoss({ openedSeq, openedAtMs }: Gap): void {
    const isAnswered = openedSeq <= this.#lossSweepSeq;
    // Of more than that, those that moved last.
    if (isAnswered && this.#liveCount > LOSS_SWEEP_PRODUCTS) return;
    const forgotten = prepared<[number, number, number], string>(this.#db, FORGOTTEN)
      .pluck()
      .all(openedSeq, openedAtMs + REPLICA_LAG_MS, openedSeq);
    for (const productId of forgotten) {
      this.#fault(
        `a loss was proven after ${openedSeq} of the log, and product ${productId} is not read for it`,
      );
    }
  }
}
