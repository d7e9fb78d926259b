/**
 * Strangers cost reads, and nothing else (docs/architecture.md#the-way-in): while every webhook arrives, the state stays
 * live, and a row keeps its trust unless the store has just changed
 * its product; all bundles are read after a change of a component.
 */
import type { SimulatedService } from '../../../src/sandbox/sandbox.ts';
import type { SentItem } from '../../../src/sandbox/network/webhooks.ts';
import { prepared } from '../../shared/prepared.ts';
import type { Db } from '../../../src/sqlite/open.ts';
import { shownState } from '../observer.ts';

interface CalmOptions {
  readonly fault: (what: string) => void;
  readonly nowMs: () => number;
  readonly service: () => SimulatedService;
}

/** Two reads that changes overtook, and the pauses between them; bundles follow their components. */
const SETTLED_MS = 90_000;

export class Calm {
  readonly #options: CalmOptions;
  readonly #changedAtMs = new Map<string, number>();
  #isLive = false;

  constructor(options: CalmOptions) {
    this.#options = options;
  }

  happened(items: readonly SentItem[]): void {
    for (const { id } of items) this.#changedAtMs.set(id, this.#options.nowMs());
  }

  check(db: Db): void {
    const { fault } = this.#options;
    const shown = shownState(db);
    this.#isLive ||= shown?.state === 'live';
    if (!this.#isLive) return;
    if (shown?.state !== 'live') fault(`strangers made the state ${shown?.state} (${shown?.cause})`);
    for (const variantId of untrusted(db)) {
      if (!this.#isMoving(variantId)) fault(`${variantId} is not trusted, and only strangers have named it`);
    }
  }

  #isMoving(variantId: string): boolean {
    const { nowMs, service } = this.#options;
    const { truth } = service();
    const siblings = truth.variant(variantId)?.product.variants ?? [];
    const hasBundle = siblings.some(({ components }) => components.length > 0);
    const hasChanged = (id: string): boolean =>
      nowMs() - (this.#changedAtMs.get(id) ?? Number.NEGATIVE_INFINITY) < SETTLED_MS;
    const isComponent = (id: string): boolean => (truth.variant(id)?.bundledBy.size ?? 0) > 0;
    return (
      siblings.some(({ id }) => hasChanged(id)) ||
      (hasBundle && [...this.#changedAtMs.keys()].some((id) => isComponent(id) && hasChanged(id)))
    );
  }
}

function untrusted(db: Db): string[] {
  return prepared<[], string>(db, 'SELECT DISTINCT variant_id FROM mirror_sellable WHERE trusted = 0')
    .pluck()
    .all();
}
