/** What happened in the mirror, for the log: one line for each event that is worth a person's attention. */
import type { Fact } from '../core/fact.ts';
import type { Logger } from '../log.ts';

/** Of each kind in each stretch; the rest is counted, so that an outage or a new format does not flood the log. */
const MOST_LINES = 20;
const STRETCH_MS = 10_000;

type Level = 'debug' | 'info' | 'warn' | 'error';

export class FactLog {
  readonly #log: Logger;
  /** Lines of each kind in the present stretch, those left out too. */
  readonly #lines = new Map<Fact['kind'], number>();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** @param seq of the log's entry: with it the delivery and its request id, or the read, are found again. */
  tell(fact: Fact, seq: number): void {
    switch (fact.kind) {
      case 'gap_proved': {
        const { productId, gap } = fact;
        this.#say(
          'info',
          fact,
          { seq, productId, variantId: gap.variantId, warehouseId: gap.warehouseId },
          'a delivery is lost: its cell is repaired, the products that move are read',
        );
        return;
      }
      case 'drift':
        // A bundle's total moves with its components and has no delivery of its own: that is no fault.
        this.#say(
          fact.cause === 'derived' ? 'debug' : 'info',
          fact,
          { seq, ...fact },
          'a read found a difference and corrected it',
        );
        return;
      case 'removed':
        this.#say('info', fact, { seq, what: fact.what, id: fact.id }, 'no longer in the service: removed');
        return;
      case 'quarantined':
        this.#say(
          'warn',
          fact,
          { seq, ...fact },
          'an authentic delivery was not understood: it is kept, and read about',
        );
        return;
      case 'brake':
        this.#say(
          'error',
          fact,
          { seq, ...fact },
          'too many products are missing at once: nothing is removed before an operator allows it (resync --allow-removals)',
        );
        return;
      case 'wrong_store':
        this.#say(
          'error',
          fact,
          { seq, ...fact },
          'the service answers for another store: nothing of it is mirrored; correct SERVICE_CLIENT_ID, or set DATABASE_PATH to a new file',
        );
        return;
      case 'clock_contradiction':
        this.#say(
          'warn',
          fact,
          { seq },
          'what the service says of its clock contradicts itself: reads are trusted less for a while; if it goes on, see that both clocks are set',
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
    // Whoever wants each line has them at the level of debug.
    this.#log[lines <= MOST_LINES ? level : 'debug'](details, message);
  }

  #endStretch(level: Level, kind: Fact['kind'], message: string): void {
    const more = (this.#lines.get(kind) ?? 0) - MOST_LINES;
    this.#lines.delete(kind);
    if (more > 0) this.#log[level]({ kind, more }, `as many more times within 10 s: ${message}`);
  }
}
