/** What happened in the mirror, as log output: one line for each event that deserves a person's attention. */
import type { Fact } from '../../core/apply/fact.ts';
import type { Logger } from '../../platform/log.ts';

/** Lines of each kind per period. Further ones are counted, so that an outage or a new format does not flood the log. */
const MOST_LINES = 20;
const STRETCH_MS = 10_000;

type Level = 'debug' | 'info' | 'warn' | 'error';

const MANY = { product: 'products', variant: 'variants', cell: 'stock levels' } as const;

export class FactLog {
  readonly #log: Logger;
  /** Lines of each kind in the current period, suppressed ones included. */
  readonly #lines = new Map<Fact['kind'], number>();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** @param seq of the entry in the event log, to find the delivery with its request id, or the read. */
  tell(fact: Fact, seq: number): void {
    switch (fact.kind) {
      case 'gap_proved': {
        const { productId, gap } = fact;
        this.#say(
          'info',
          fact,
          { seq, productId, variantId: gap.variantId, warehouseId: gap.warehouseId },
          'a delivery from the store was lost: its stock level is re-read, and so are the products that moved recently',
        );
        return;
      }
      case 'drift':
        // A bundle's total moves with its components, without a delivery of its own: that is no fault.
        this.#say(
          fact.cause === 'derived' ? 'debug' : 'info',
          fact,
          { seq, ...fact },
          'a read found a difference from the store and corrected it',
        );
        return;
      case 'removed':
        this.#say(
          'info',
          fact,
          { seq, what: fact.what, id: fact.id },
          'the store no longer has it: removed from the mirror',
        );
        return;
      case 'quarantined':
        this.#say(
          'warn',
          fact,
          { seq, ...fact },
          'an authentic delivery was not understood: it is kept, and what it names is read from the store instead',
        );
        return;
      case 'brake':
        this.#say(
          'error',
          fact,
          { seq, ...fact },
          `the store no longer shows too many ${MANY[fact.what]} at once: the mirror keeps them until an operator allows the removal (resync --allow-removals)`,
        );
        return;
      case 'webhooks_alone':
        this.#say(
          'warn',
          fact,
          { seq, ...fact },
          'webhooks name a warehouse that the store’s details do not show: the mirror keeps its figure, suspect, and no longer reads the product for it; report it to the store',
        );
        return;
      case 'contradiction':
        this.#say(
          'warn',
          fact,
          { seq, ...fact },
          'the store’s answer tells one figure twice, and not the same: the mirror keeps what it has, suspect, until an answer without the contradiction; report it to the store',
        );
        return;
      case 'moved':
        this.#say('info', fact, { seq, ...fact }, 'the store shows a variant in another product than before');
        return;
      case 'wrong_store':
        this.#say(
          'error',
          fact,
          { seq, ...fact },
          'the credentials belong to another store: nothing of it is mirrored; correct SERVICE_CLIENT_ID, or set DATABASE_PATH to a new file',
        );
        return;
      case 'clock_contradiction':
        this.#say(
          'warn',
          fact,
          { seq },
          'the store’s clock or this machine’s has jumped: more products are re-read for a while, and figures stay correct; if this goes on, check both clocks',
        );
        return;
      case 'date':
        this.#say(
          fact.isDropped ? 'warn' : 'info',
          fact,
          { seq, isDropped: fact.isDropped },
          fact.isDropped
            ? 'the Date of the store’s answers is wrong, by the times of its changes (a balancer with a clock of its own?): the mirror does without it, and figures stay correct; report it to the store'
            : 'the Date of the store’s answers agrees with the times of its changes again',
        );
        return;
      case 'change':
      case 'level':
      case 'gap_opened':
      case 'gap_closed':
      case 'obliged':
      case 'met':
      case 'canary':
      case 'unmapped':
      case 'missing':
      case 'contested':
      case 'not_found':
      case 'pruned':
      case 'run_begun':
        this.#log.debug({ seq, ...fact }, fact.kind);
    }
  }

  #say(level: Level, { kind }: Fact, details: object, message: string): void {
    if (level === 'debug') {
      this.#log.debug(details, message);
      return;
    }
    const lines = (this.#lines.get(kind) ?? 0) + 1;
    this.#lines.set(kind, lines);
    if (lines === 1) setTimeout(() => this.#endStretch(level, kind, message), STRETCH_MS).unref();
    // At level debug, every line is written.
    this.#log[lines <= MOST_LINES ? level : 'debug'](details, message);
  }

  #endStretch(level: Level, kind: Fact['kind'], message: string): void {
    const more = (this.#lines.get(kind) ?? 0) - MOST_LINES;
    this.#lines.delete(kind);
    if (more > 0) this.#log[level]({ kind, more }, `repeated within 10 s: ${message}`);
  }
}
