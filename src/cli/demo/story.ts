/** The text of the demo: its events, the repairs of the mirror, and how far the mirror is from the store. */
import type { Fact } from '../../core/apply/fact.ts';
import { counted } from '../../platform/amounts.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import { colours } from '../shared/colours.ts';
import { compareWithTruth, type Comparison } from './compare.ts';
import type { LogLine } from './mirror-process.ts';

/** Losses that are explained before the verdict. */
const EXAMPLES = 3;

export class Story {
  examples = EXAMPLES;
  readonly #sandbox: Sandbox;
  readonly #databasePath: string;
  readonly #startedMs = performance.now();
  readonly #counts = { gap_closed: 0, gap_proved: 0, drift: 0 };

  constructor(sandbox: Sandbox, databasePath: string) {
    this.#sandbox = sandbox;
    this.#databasePath = databasePath;
  }

  get ageMs(): number {
    return performance.now() - this.#startedMs;
  }

  compare(): Comparison {
    return compareWithTruth(this.#databasePath, this.#sandbox.truth);
  }

  say(text: string): void {
    write(`${colours.dim(`${(this.ageMs / 1_000).toFixed(1).padStart(5)} s`)}  ${text}`);
  }

  log(line: LogLine): void {
    if (line.level === 'error' || line.level === 'fatal') this.say(`${colours.red(line.level)}  ${line.msg}`);
    const fact = line as unknown as Fact;
    // A bundle's total follows its components without a webhook: no repair.
    if (fact.kind === 'drift' && fact.reason === 'derived') return;
    if (fact.kind === 'gap_closed' || fact.kind === 'gap_proved' || fact.kind === 'drift') {
      this.#counts[fact.kind] += 1;
    }
    if (fact.kind !== 'gap_proved' || this.examples === 0) return;
    this.examples -= 1;
    const { variantId, fromQty, toQty, openedAtMs } = fact.gap;
    const name = this.#sandbox.truth.variant(variantId)?.product.name ?? `variant ${variantId}`;
    const seconds = ((Date.now() - openedAtMs) / 1_000).toFixed(1);
    this.say(
      `${colours.red('lost')} a webhook of ${name}, ${fromQty} → ${toQty}. ${colours.cyan('Found:')} the next one began at ` +
        `${toQty}, the mirror had ${fromQty}. ${colours.green('Repaired')} by a read ${seconds} s later`,
    );
  }

  summary(): string {
    return `${soldWords(this.compare())}; ${this.totals()}`;
  }

  totals(): string {
    const { answered, lost, failed, timeout } = this.#sandbox.deliveries.counts;
    const { gap_closed: late, gap_proved: proved, drift } = this.#counts;
    return (
      `${answered + lost + failed + timeout} webhooks: ${lost} lost, ${failed + timeout} not answered; ` +
      `gaps: ${late} closed by late webhooks, ${proved} proven lost; ${counted(drift, 'value')} repaired`
    );
  }
}

/** A change whose webhook is on its way, or was lost without a trace, leaves a quantity trusted and wrong for some time. */
export function soldWords({ sellable, trusted, trustedWrong }: Comparison): string {
  const known = trustedWrong === 0 ? '' : ', until a webhook or a read shows the change';
  return `${trusted} of ${sellable} quantities can be sold now; trusted and wrong: ${trustedWrong}${known}`;
}

export function write(text: string): void {
  process.stdout.write(`${text}\n`);
}
