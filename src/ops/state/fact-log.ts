/** What happened in the mirror, as log output: one line for each event that deserves a person's attention. */
import type { Fact } from '../../core/apply/fact.ts';
import type { Logger } from '../../platform/log.ts';

/** Lines of each kind per period. Further ones are counted, so that an outage or a new format does not flood the log. */
const MOST_LINES = 20;
const STRETCH_MS = 10_000;

/** null: only for debugging. */
type Line = readonly [level: 'info' | 'warn' | 'error', message: string] | null;

const MANY = { product: 'products', variant: 'variants', level: 'stock levels' } as const;

export class FactLog {
  readonly #log: Logger;
  /** Lines of each kind in the current period, suppressed ones included. */
  readonly #lines = new Map<Fact['kind'], number>();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** @param seq the number of the input. */
  tell(fact: Fact, seq: number): void {
    const { kind } = fact;
    const line = lineOf(fact);
    if (line === null) {
      this.#log.debug({ seq, ...fact }, kind);
      return;
    }
    const [level, message] = line;
    const lines = (this.#lines.get(kind) ?? 0) + 1;
    this.#lines.set(kind, lines);
    if (lines === 1) setTimeout(() => this.#endStretch(line, kind), STRETCH_MS).unref();
    // At level debug, every line is written.
    this.#log[lines <= MOST_LINES ? level : 'debug']({ seq, ...fact }, message);
  }

  #endStretch([level, message]: NonNullable<Line>, kind: Fact['kind']): void {
    const more = (this.#lines.get(kind) ?? 0) - MOST_LINES;
    this.#lines.delete(kind);
    if (more > 0) this.#log[level]({ repeated: kind, more }, `repeated within 10 s: ${message}`);
  }
}

function lineOf(fact: Fact): Line {
  switch (fact.kind) {
    case 'gap_proved':
      return [
        'info',
        'a delivery from the store was lost: its stock level is re-read, and so are the products with the oldest evidence',
      ];
    case 'drift':
      // A bundle's total moves with its components, without a delivery of its own: that is no fault.
      return fact.cause === 'derived'
        ? null
        : ['info', 'a read found a difference from the store and corrected it'];
    case 'removed':
      return ['info', 'the store no longer has it: removed from the mirror'];
    case 'dead_letter':
      return [
        'warn',
        'an authentic delivery was not understood: it is kept, and what it names is read from the store instead',
      ];
    case 'removals_held':
      return [
        'error',
        `the store no longer shows too many ${MANY[fact.what]} at once: the mirror keeps them until an operator allows the removal (resync --allow-removals)`,
      ];
    case 'moved':
      return ['info', 'the store shows a variant in another product than before'];
    case 'wrong_store':
      return [
        'error',
        'the credentials belong to another store: nothing of it is mirrored; correct SERVICE_CLIENT_ID, or set DATABASE_PATH to a new file',
      ];
    case 'clock_contradiction':
      return [
        'warn',
        'the store’s clock or this machine’s has jumped: more products are re-read for a while, and values stay correct; if this goes on, check both clocks',
      ];
    case 'date':
      return fact.isDropped
        ? [
            'warn',
            'the Date of the store’s answers is wrong, by the times of its changes (a balancer with a clock of its own?): the mirror does without it, and values stay correct; report it to the store',
          ]
        : ['info', 'the Date of the store’s answers agrees with the times of its changes again'];
    case 'change':
    case 'level':
    case 'gap_opened':
    case 'gap_closed':
    case 'read_requested':
    case 'met':
    case 'loss_suspected':
    case 'unmapped':
    case 'missing':
    case 'contested':
    case 'not_found':
    case 'run_begun':
      return null;
  }
}
