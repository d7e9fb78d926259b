/** Counts the faults of the network and what the mirror makes of them, and tells all of them or some examples. */
import type { DriftCause } from '../../core/causes.ts';
import type { DeliveryRecord } from '../../sandbox/network/deliveries.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import type { LogLine } from './mirror-process.ts';
import { colours } from '../shared/colours.ts';

/** Counts of all events, printed or not. */
export interface Tally {
  /** Of stock levels, each told by one webhook. */
  changes: number;
  sent: number;
  /** The network lost it. */
  lost: number;
  /** The mirror did not answer it: it was down. */
  missed: number;
  duplicated: number;
  /** A newer one arrived first. */
  late: number;
  gapsOpened: number;
  /** The missing webhook arrived late. */
  gapsClosed: number;
  lossesProved: number;
  /** Figures that a read corrected. */
  repaired: number;
}

/** More lines a second are not readable; the tally counts the rest. */
const LINES_PER_SECOND = 8;

/** Losses told from beginning to end, where not every event is. */
const EXAMPLES = 3;

/** The mirror's log messages, word for word. */
export const PROVED =
  'a delivery from the store was lost: its stock level is re-read, and so are the products that moved recently';
export const CORRECTED = 'a read found a difference from the store and corrected it';

/** Why a figure was wrong, by the cause in the mirror's log output. A bundle's total is no fault. */
const CAUSES: Readonly<Record<string, string>> = {
  gap: 'an earlier webhook was lost',
  lost_tail: 'its last webhook was lost',
  downtime: 'it changed while the mirror was down',
  conflict: 'webhooks and reads contradicted each other',
} satisfies Record<Exclude<DriftCause, 'derived'>, string>;

/** What is known of a stock level that missed a webhook. */
interface Case {
  /** The first one that did not arrive. */
  missing: { readonly old: number; readonly new: number } | null;
  gap: { readonly fromQty: number; readonly toQty: number; readonly atMs: number } | null;
}

export class Story {
  /** Tells every event, not only some losses from beginning to end. */
  tellsAll: boolean;
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
  #second = 0;
  #linesInSecond = 0;
  /** When the newest webhook received so far was made. */
  #newestMs = 0;
  /** By variant and warehouse. */
  readonly #cases = new Map<string, Case>();
  #examples = 0;

  constructor(
    sandbox: Pick<Sandbox, 'truth' | 'deliveries'>,
    write: (text: string) => void,
    { tellsAll }: { readonly tellsAll: boolean },
  ) {
    this.#sandbox = sandbox;
    this.#write = write;
    this.tellsAll = tellsAll;
  }

  say(text: string): void {
    const seconds = (performance.now() - this.#startedMs) / 1_000;
    this.#write(`${colours.dim(`${seconds.toFixed(1).padStart(5)} s`)}  ${text}\n`);
  }

  /** Reports every webhook from now on. @returns stops it. */
  begin(): () => void {
    return this.#sandbox.deliveries.onSettled((record) => this.#tellDelivery(record));
  }

  /** Reports a line of the mirror's log output. */
  log(line: LogLine): void {
    const { tally } = this;
    switch (line.msg) {
      case 'gap_opened': {
        const { name, fromQty, toQty, key } = this.#gapOf(line);
        tally.gapsOpened += 1;
        this.#caseOf(key).gap ??= { fromQty, toQty, atMs: performance.now() };
        const held = `the mirror held ${fromQty}, this change is from ${toQty}`;
        return this.#tell(colours.cyan, 'gap', `${name}: ${held}, so a webhook is missing`);
      }
      case 'gap_closed':
        tally.gapsClosed += 1;
        this.#cases.delete(this.#gapOf(line).key);
        return this.#tell(
          colours.green,
          'closed',
          `${this.#gapOf(line).name}: the missing webhook was only late`,
        );
      case PROVED: {
        tally.lossesProved += 1;
        const name = this.#nameOf(line['variantId']);
        if (!this.tellsAll) return this.#tellExample(name, keyOf(line['variantId'], line['warehouseId']));
        this.#cases.delete(keyOf(line['variantId'], line['warehouseId']));
        return this.#tell(
          colours.green,
          'proved',
          `${name}: the missing webhook was lost, a read replaced it`,
        );
      }
      case CORRECTED: {
        // A bundle's total moves with its components and has no webhook of its own: that is no repair.
        const cause = CAUSES[String(line['cause'])];
        if (cause === undefined) return;
        tally.repaired += 1;
        const figures = `${String(line['oldQty'])} → ${String(line['newQty'])}`;
        const name = this.#nameOf(line['variantId']);
        return this.#tell(colours.green, 'corrected', `${name}: ${figures} by a read; ${cause}`);
      }
      default:
        if (line.level === 'error' || line.level === 'fatal')
          this.say(`${colours.red(line.level)}  ${line.msg}`);
    }
  }

  #tellDelivery(record: DeliveryRecord): void {
    const { tally } = this;
    const what = this.#changesOf(record);
    if (record.duplicate) {
      tally.duplicated += 1;
      return this.#tell(colours.magenta, 'doubled', `${what}, delivered twice`);
    }
    tally.sent += 1;
    tally.changes += record.delivery.items.length;
    if (record.outcome === 'lost') {
      tally.lost += 1;
      this.#remember(record);
      return this.#tell(colours.red, 'lost', `${what}, never arrives`);
    }
    if (record.outcome !== 'answered' || record.status === null || record.status > 299) {
      tally.missed += 1;
      this.#remember(record);
      return this.#tell(colours.red, 'missed', `${what}, the mirror does not answer`);
    }
    const behindMs = this.#newestMs - record.delivery.requestTimeMs;
    this.#newestMs = Math.max(this.#newestMs, record.delivery.requestTimeMs);
    if (behindMs <= 0) return;
    tally.late += 1;
    this.#tell(colours.yellow, 'late', `${what}, arrives after a webhook that is ${behindMs} ms newer`);
  }

  #remember({ delivery: { items } }: DeliveryRecord): void {
    for (const item of items) this.#caseOf(keyOf(item.id, item.warehouse_id)).missing ??= item;
  }

  #caseOf(key: string): Case {
    const known = this.#cases.get(key) ?? { missing: null, gap: null };
    this.#cases.set(key, known);
    return known;
  }

  /** One loss from beginning to end. */
  #tellExample(name: string, key: string): void {
    const { missing = null, gap = null } = this.#cases.get(key) ?? {};
    this.#cases.delete(key);
    if (missing === null || gap === null || this.#examples >= EXAMPLES) return;
    this.#examples += 1;
    const seconds = ((performance.now() - gap.atMs) / 1_000).toFixed(1);
    this.say(
      `${colours.red('lost')} ${name}: the webhook ${missing.old} → ${missing.new}. ${colours.cyan('Found:')} the ` +
        `next one began at ${gap.toQty}, the mirror held ${gap.fromQty}. ${colours.green('Repaired')} by a read, ${seconds} s later`,
    );
  }

  #tell(paint: (text: string) => string, word: string, text: string): void {
    if (!this.tellsAll) return;
    const second = Math.floor((performance.now() - this.#startedMs) / 1_000);
    if (second !== this.#second) this.#linesInSecond = 0;
    this.#second = second;
    this.#linesInSecond += 1;
    if (this.#linesInSecond <= LINES_PER_SECOND) this.say(`${paint(word.padEnd(9))}  ${text}`);
  }

  #changesOf({ delivery: { items } }: DeliveryRecord): string {
    const [first] = items;
    if (first === undefined) return 'a webhook without changes';
    const more = items.length > 1 ? ` and ${items.length - 1} more` : '';
    return `${this.#nameOf(first.id)}: ${first.old} → ${first.new}${more}`;
  }

  #gapOf(line: LogLine): { name: string; key: string; fromQty: number; toQty: number } {
    const { variantId, warehouseId, fromQty, toQty } = line['gap'] as {
      variantId: string;
      warehouseId: string;
      fromQty: number;
      toQty: number;
    };
    return { name: this.#nameOf(variantId), key: keyOf(variantId, warehouseId), fromQty, toQty };
  }

  #nameOf(variantId: unknown): string {
    const variant = this.#sandbox.truth.variant(String(variantId));
    if (variant === undefined) return `variant ${String(variantId)}`;
    return variant.name === '' ? variant.product.name : `${variant.product.name} (${variant.name})`;
  }
}

function keyOf(variantId: unknown, warehouseId: unknown): string {
  return `${String(variantId)}/${String(warehouseId)}`;
}
