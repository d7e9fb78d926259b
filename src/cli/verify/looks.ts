/** Goes through the products: looks at each, and again for as long as a difference may be a change on its way. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '../../store-api/transport/errors.ts';
import { compare, judge, keyOf, type Comparison, type Difference, type Unconfirmed } from './figures.ts';
import type { MirrorSide } from './mirror-side.ts';
import type { ServiceSide } from './service-side.ts';

export interface Found extends Difference {
  readonly productId: string;
}

interface Unread {
  readonly productId: string;
  readonly error: string;
}

export interface Verdict {
  readonly products: number;
  readonly totals: number;
  readonly levels: number;
  readonly drift: readonly Found[];
  /** Differed at every look, and moved between them. */
  readonly undecided: readonly Found[];
  /** The store did not show it. */
  readonly unread: readonly Unread[];
  /** Products that neither side has. */
  readonly nowhere: readonly string[];
}

interface LooksDeps {
  readonly mirror: Pick<MirrorSide, 'look'>;
  readonly service: Pick<ServiceSide, 'product'>;
  /** Products looked at concurrently. */
  readonly concurrency: number;
  readonly onProgress: (done: number, drift: number) => void;
  readonly signal: AbortSignal;
  /**
   * How long to wait before looking again at a product that differs: longer than replicas lag (2 s) and than webhooks
   * take.
   */
  readonly againAfterMs?: number;
}

const AGAIN_AFTER_MS = 3_000;
const MAX_LOOKS = 6;
const IDLE_MS = 50;

interface Task {
  readonly productId: string;
  readonly look: number;
  readonly notBeforeMs: number;
  readonly unconfirmed: Unconfirmed;
  /** Keys of what differed at every look so far; null before the first. */
  readonly neverEqual: ReadonlySet<string> | null;
}

/** @throws ServiceError that no further request can mend, Error for another store, or the signal's reason. */
export function lookAtAll(deps: LooksDeps, productIds: readonly string[]): Promise<Verdict> {
  return new Looks(deps, productIds).run();
}

class Looks {
  readonly #deps: LooksDeps;
  readonly #first: IterableIterator<string>;
  /** All wait equally long, so the first of them is the first that is due. */
  readonly #again: Task[] = [];
  readonly #drift: Found[] = [];
  readonly #undecided: Found[] = [];
  readonly #unread: Unread[] = [];
  readonly #nowhere: string[] = [];
  #underWay = 0;
  #done = 0;
  #totals = 0;
  #levels = 0;

  constructor(deps: LooksDeps, productIds: readonly string[]) {
    this.#deps = deps;
    this.#first = productIds.values();
  }

  async run(): Promise<Verdict> {
    await Promise.all(Array.from({ length: this.#deps.concurrency }, () => this.#work()));
    return {
      products: this.#done,
      totals: this.#totals,
      levels: this.#levels,
      drift: this.#drift,
      undecided: this.#undecided,
      unread: this.#unread,
      nowhere: this.#nowhere,
    };
  }

  async #work(): Promise<void> {
    for (;;) {
      this.#deps.signal.throwIfAborted();
      const task = this.#next();
      if (task !== null) {
        this.#underWay += 1;
        await this.#lookAt(task).finally(() => (this.#underWay -= 1));
      } else if (this.#again.length === 0 && this.#underWay === 0) {
        return;
      } else {
        await sleep(IDLE_MS, undefined, { signal: this.#deps.signal });
      }
    }
  }

  #next(): Task | null {
    const [due] = this.#again;
    if (due !== undefined && due.notBeforeMs <= performance.now()) return this.#again.shift() ?? null;
    const fresh = this.#first.next();
    if (fresh.done === true) return null;
    return { productId: fresh.value, look: 1, notBeforeMs: 0, unconfirmed: new Map(), neverEqual: null };
  }

  async #lookAt(task: Task): Promise<void> {
    const { mirror, service } = this.#deps;
    const { productId } = task;
    let before = mirror.look(productId);
    let told;
    try {
      told = await service.product(productId, () => (before = mirror.look(productId)));
    } catch (error) {
      if (!(error instanceof ServiceError) || !isOfOneProduct(error)) throw error;
      this.#unread.push({ productId, error: error.message });
      this.#end();
      return;
    }
    const after = mirror.look(productId);
    if (before === null && told === null && after === null) this.#nowhere.push(productId);
    this.#settle(task, compare(before, told, after));
  }

  #settle(task: Task, { totals, levels, differences }: Comparison): void {
    const { productId, look } = task;
    const { drift, open, unconfirmed } = judge(differences, task.unconfirmed);
    const undecided = open.filter((difference) => task.neverEqual?.has(keyOf(difference)) ?? true);
    if (open.length > 0 && look < MAX_LOOKS) {
      const notBeforeMs = performance.now() + (this.#deps.againAfterMs ?? AGAIN_AFTER_MS);
      const neverEqual = new Set(undecided.map(keyOf));
      this.#again.push({ productId, look: look + 1, notBeforeMs, unconfirmed, neverEqual });
      return;
    }
    this.#totals += totals;
    this.#levels += levels;
    this.#drift.push(...drift.map((difference) => ({ ...difference, productId })));
    this.#undecided.push(...undecided.map((difference) => ({ ...difference, productId })));
    this.#end();
  }

  #end(): void {
    this.#done += 1;
    this.#deps.onProgress(this.#done, this.#drift.length);
  }
}

/** The other kinds mean that further requests would fail as well. */
function isOfOneProduct({ kind }: ServiceError): boolean {
  return kind === 'rejected' || kind === 'contract' || kind === 'unavailable' || kind === 'rate_limited';
}
