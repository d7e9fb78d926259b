/** Counts the faults of the network and the mirror's repairs, and tells some losses from beginning to end. */
import type { Fact } from '../../core/apply/fact.ts';
import type { DeliveryRecord } from '../../sandbox/network/deliveries.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import type { LogLine } from './mirror-process.ts';
import { colours } from '../shared/colours.ts';

export interface Tally {
  /** Of stock levels, each in one webhook. */
  changes: number;
  sent: number;
  /** The network lost it. */
  lost: number;
  /** The mirror was down. */
  missed: number;
  duplicated: number;
  /** A newer one arrived first. */
  late: number;
  gapsOpened: number;
  /** The missing webhook arrived late. */
  gapsClosed: number;
  lossesProved: number;
  /** Values that a read corrected. */
  repaired: number;
}

/** What is known of a stock level that missed a webhook. */
interface Case {
  /** The first one that did not arrive. */
  missing: { readonly old: number; readonly new: number } | null;
  gap: { readonly fromQty: number; readonly toQty: number; readonly atMs: number } | null;
}

export class Story {
  /** How many more losses are told. */
  examples = 3;
  readonly tally: Tally = {
    changes: 0,
    sent: 0,
    lost: 0,
    missed: 0,
    duplicated: 0,
    late: 0,
    gapsOpened: 0,
    gapsClosed: 0,
    lossesProved: 0,
    repaired: 0,
  };
  readonly #sandbox: Pick<Sandbox, 'truth' | 'deliveries'>;
  readonly #write: (text: string) => void;
  readonly #startedMs = performance.now();
  /** When the newest webhook received so far was made. */
  #newestMs = 0;
  /** By variant and warehouse. */
  readonly #cases = new Map<string, Case>();

  constructor(sandbox: Pick<Sandbox, 'truth' | 'deliveries'>, write: (text: string) => void) {
    this.#sandbox = sandbox;
    this.#write = write;
  }

  say(text: string): void {
    const seconds = (performance.now() - this.#startedMs) / 1_000;
    this.#write(`${colours.dim(`${seconds.toFixed(1).padStart(5)} s`)}  ${text}\n`);
  }

  /** Counts every webhook from now on. @returns stops it. */
  begin(): () => void {
    return this.#sandbox.deliveries.onSettled((record) => this.#settled(record));
  }

  /** Takes note of a line of the mirror's log output, which names its fact by `kind`. */
  log(line: LogLine): void {
    if (line.level === 'error' || line.level === 'fatal') this.say(`${colours.red(line.level)}  ${line.msg}`);
    const fact = line as unknown as Fact;
    if (fact.kind === 'gap_opened') {
      this.tally.gapsOpened += 1;
      const { variantId, warehouseId, fromQty, toQty } = fact.gap;
      this.#caseOf(keyOf(variantId, warehouseId)).gap ??= { fromQty, toQty, atMs: performance.now() };
    } else if (fact.kind === 'gap_closed') {
      this.tally.gapsClosed += 1;
      this.#cases.delete(keyOf(fact.gap.variantId, fact.gap.warehouseId));
    } else if (fact.kind === 'gap_proved') {
      this.tally.lossesProved += 1;
      this.#tellExample(fact.gap.variantId, fact.gap.warehouseId);
    } else if (fact.kind === 'drift' && fact.cause !== 'derived') {
      // A bundle's total moves with its components and has no webhook of its own.
      this.tally.repaired += 1;
    }
  }

  #settled({ delivery, duplicate, outcome, status }: DeliveryRecord): void {
    const { tally } = this;
    if (duplicate) {
      tally.duplicated += 1;
      return;
    }
    tally.sent += 1;
    tally.changes += delivery.items.length;
    const isAnswered = outcome === 'answered' && status !== null && status <= 299;
    if (!isAnswered) {
      if (outcome === 'lost') tally.lost += 1;
      else tally.missed += 1;
      for (const item of delivery.items) this.#caseOf(keyOf(item.id, item.warehouse_id)).missing ??= item;
      return;
    }
    if (delivery.requestTimeMs < this.#newestMs) tally.late += 1;
    this.#newestMs = Math.max(this.#newestMs, delivery.requestTimeMs);
  }

  #caseOf(key: string): Case {
    const known = this.#cases.get(key) ?? { missing: null, gap: null };
    this.#cases.set(key, known);
    return known;
  }

  #tellExample(variantId: string, warehouseId: string): void {
    const { missing = null, gap = null } = this.#cases.get(keyOf(variantId, warehouseId)) ?? {};
    this.#cases.delete(keyOf(variantId, warehouseId));
    if (missing === null || gap === null || this.examples === 0) return;
    this.examples -= 1;
    const seconds = ((performance.now() - gap.atMs) / 1_000).toFixed(1);
    const variant = this.#sandbox.truth.variant(variantId);
    const name = variant?.product.name ?? `variant ${variantId}`;
    this.say(
      `${colours.red('lost')} ${name}: the webhook ${missing.old} → ${missing.new}. ${colours.cyan('Found:')} the ` +
        `next one began at ${gap.toQty}, the mirror held ${gap.fromQty}. ${colours.green('Repaired')} by a read, ${seconds} s later`,
    );
  }
}

function keyOf(variantId: string, warehouseId: string): string {
  return `${variantId}/${warehouseId}`;
}
