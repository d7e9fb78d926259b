import type { Fact } from '../../core/apply/fact.ts';
import type { Logger } from '../../platform/log.ts';

/** Lines of each kind per period; further ones are only counted, so that an outage does not flood the log. */
const MOST_LINES = 20;
const STRETCH_MS = 10_000;
const IDS_SHOWN = 20;

/** null if logged at level debug only. */
type Line = readonly [level: 'info' | 'warn' | 'error', message: string] | null;

export class FactLog {
  readonly #log: Logger;
  readonly #lines = new Map<Fact['kind'], number>();

  constructor(log: Logger) {
    this.#log = log;
  }

  log(fact: Fact, seq: number): void {
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
    this.#log[lines <= MOST_LINES ? level : 'debug']({ seq, ...shown(fact) }, message);
  }

  #endStretch([level, message]: NonNullable<Line>, kind: Fact['kind']): void {
    const more = (this.#lines.get(kind) ?? 0) - MOST_LINES;
    this.#lines.delete(kind);
    if (more > 0) this.#log[level]({ repeated: kind, more }, `repeated within 10 s: ${message}`);
  }
}

/** Without all of the ids that a decision may name. */
function shown(fact: Fact): object {
  if (fact.kind !== 'removals_allowed') return fact;
  const { productIds } = fact;
  return { ...fact, products: productIds.length, productIds: productIds.slice(0, IDS_SHOWN) };
}

function lineOf(fact: Fact): Line {
  switch (fact.kind) {
    case 'gap_proved':
      return [
        'info',
        'a delivery from the store was lost: its product is read, and so are the products with the ' +
          'oldest evidence',
      ];
    case 'drift':
      // A bundle's total follows its components without a webhook: no fault.
      return fact.reason === 'derived'
        ? null
        : ['info', 'a read found a difference from the store and corrected it'];
    case 'removed':
      return ['info', 'removed from the mirror, because the store no longer has it'];
    case 'dead_letter':
      return [
        'warn',
        'an authentic delivery was not understood: it is kept, and the affected products are read instead',
      ];
    case 'defect':
      return [
        'error',
        'a defect of stock-mirror: an input broke the merge rules and was set aside; the products ' +
          'that it names are read. Report it with this line',
      ];
    case 'removals_allowed':
      return ['warn', 'an operator allowed the removal of what the store no longer shows of these products'];
    case 'removals_held':
      return [
        'error',
        'too many quantities are missing from the store at once: the mirror keeps them, not trusted, until an operator decides',
      ];
    case 'moved':
      return ['info', 'a variant moved to another product'];
    case 'wrong_store':
      return [
        'error',
        'the credentials belong to another store, which is not mirrored: correct SERVICE_CLIENT_ID, ' +
          'or set DATABASE_PATH to a new file',
      ];
    case 'clock_contradiction':
      return [
        'warn',
        'the store’s clock or this machine’s has jumped: values stay correct, but more products are ' +
          'read for a while; if this repeats, check both clocks',
      ];
    case 'date':
      return fact.isDropped
        ? [
            'warn',
            'the Date header of the store’s answers contradicts the times of its changes: the mirror ' +
              'ignores it, and values stay correct; report it to the store',
          ]
        : ['info', 'the Date header of the store’s answers agrees with the times of its changes again'];
    case 'change':
    case 'compared':
    case 'level':
    case 'gap_opened':
    case 'gap_closed':
    case 'read_requested':
    case 'met':
    case 'loss_suspected':
    case 'missing':
    case 'contested':
    case 'not_found':
    case 'run_begun':
      return null;
  }
}
