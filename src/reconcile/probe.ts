/**
 * Asks the store whether its webhooks arrive, when something hints that they do not (docs/architecture.md#the-way-in): a
 * refused request, or an unusual silence. A probe is some reads; it makes nothing suspect.
 */
import type { Claim } from '../core/input.ts';
import { silentFromMs, untoldDueAtMs } from '../core/merge/way-in.ts';
import type { ReceiverRow } from '../inbox/inbox-file.ts';
import { isHint, type ReportedSince, type StreamReport } from '../inbox/report.ts';
import type { ReadingDeps } from './product-reader.ts';

interface ProbeDeps extends Pick<ReadingDeps, 'mirror' | 'now'> {
  /** The share of the store's rate that probes may have. */
  readonly maxReadsPerSecond: number;
}

/** Products whose last change is youngest: the first few are read several times. */
const FEW = 20;
const ROUNDS_OF_FEW = 3;
const MANY = 200;
const READS_PER_SECOND = 10;
/** Products that refused requests name, and that wait for the next probe. */
const MOST_NAMED = 200;
const FIRST_PAUSE_MS = 30_000;
const LONGEST_PAUSE_MS = 15 * 60_000;
/** An older heartbeat vouches for no webhook. */
const HEARD_WITHIN_MS = 5_000;

/** Hints of one kind, such as those that strangers can cause, do not delay the probes of another. */
class Pauses {
  #pauseMs = FIRST_PAUSE_MS;
  #untilMs = Number.NEGATIVE_INFINITY;

  isOver(nowMs: number): boolean {
    return nowMs >= this.#untilMs;
  }

  /** A probe begins. While probes find nothing, the pauses grow. */
  begin(nowMs: number): void {
    if (nowMs - this.#untilMs >= LONGEST_PAUSE_MS) this.#pauseMs = FIRST_PAUSE_MS;
    this.#untilMs = nowMs + this.#pauseMs;
    this.#pauseMs = Math.min(LONGEST_PAUSE_MS, this.#pauseMs * 2);
  }

  end(): void {
    this.#pauseMs = FIRST_PAUSE_MS;
    this.#untilMs = Number.NEGATIVE_INFINITY;
  }
}

export class Probe {
  readonly #deps: ProbeDeps;
  readonly #afterRefusals = new Pauses();
  readonly #inSilence = new Pauses();
  /** Own clock, of the last heartbeat; null if the receiver has stopped, or the stream is silent. */
  #heardAtMs: number | null = null;
  #isRefusing = false;
  #newClaims: Claim[] = [];
  /** By product, then by level: the latest claim counts. */
  readonly #claims = new Map<string, Map<string, Claim>>();
  /** Arrival of the webhook before the silence; null if it is not silent. */
  #silentAfterMs: number | null = null;
  /** Products to read, in this order. */
  #left: string[] = [];
  /** By the monotonic clock. */
  #nextReadMs = 0;

  constructor(deps: ProbeDeps) {
    this.#deps = deps;
  }

  /** The receiver's last heartbeat, and what is new in its report. Call it each second. */
  heard(
    { clockMs, isStopped }: ReceiverRow,
    { refused, claims }: ReportedSince,
    stream: StreamReport | null,
  ): void {
    const isListening = !isStopped && (stream === null || stream.silentSinceMs === null);
    this.#heardAtMs = isListening ? clockMs : null;
    this.#isRefusing ||= refused.some(({ reason }) => isHint(reason));
    this.#newClaims.push(...claims);
  }

  /** Begins what is due. Call it often. @throws SqliteFault */
  async check(): Promise<void> {
    const { mirror, now } = this.#deps;
    await this.#sortClaims();
    const facts = await mirror.ask('wayIn');
    const nowMs = now();
    // While no receiver listens, a time that was missed is written down.
    if (this.#heardAtMs === null || nowMs - this.#heardAtMs > HEARD_WITHIN_MS) return;
    if (facts.wayIn === 'missing') {
      this.#rest();
      return;
    }
    const silentMs = silentFromMs(facts);
    const isSilent = silentMs !== null && nowMs >= silentMs;
    if (facts.untold !== null && nowMs >= untoldDueAtMs(facts.untold)) {
      await mirror.append({ kind: 'untold_due', atMs: nowMs });
    }
    if (this.#left.length > 0) return;
    if (this.#isRefusing && this.#afterRefusals.isOver(nowMs)) await this.#afterRefusal(nowMs);
    else await this.#followSilence(isSilent ? facts.lastWebhookAtMs : null, nowMs);
  }

  /** Products to read now, at most `room`, which are then being read. */
  take(room: number, isUnderWay: (productId: string) => boolean): string[] {
    const taken: string[] = [];
    const pauseMs = 1_000 / Math.min(READS_PER_SECOND, this.#deps.maxReadsPerSecond);
    const nowMs = performance.now();
    while (taken.length < room && this.#nextReadMs <= nowMs) {
      const at = this.#left.findIndex((id) => !taken.includes(id) && !isUnderWay(id));
      if (at === -1) break;
      taken.push(...this.#left.splice(at, 1));
      this.#nextReadMs = Math.max(this.#nextReadMs + pauseMs, nowMs);
    }
    return taken;
  }

  /** Claims of refused requests about the product, for its next read. */
  claimsOf(productId: string): readonly Claim[] {
    return [...(this.#claims.get(productId)?.values() ?? [])];
  }

  /** @param foundDifference a read has found a change that no webhook reported: the next probe is urgent. */
  answered(productId: string, foundDifference: boolean): void {
    this.#claims.delete(productId);
    if (!foundDifference) return;
    this.#afterRefusals.end();
    this.#inSilence.end();
  }

  /** Strangers can name any id: only variants that the store has shown count. */
  async #sortClaims(): Promise<void> {
    const claims = this.#newClaims;
    if (claims.length === 0) return;
    this.#newClaims = [];
    const variantIds = [...new Set(claims.map(({ variantId }) => variantId))];
    const shown = await this.#deps.mirror.ask('productsOfVariants', { variantIds });
    const productOf = new Map(shown.map(({ variantId, productId }) => [variantId, productId]));
    for (const claim of claims) {
      const productId = productOf.get(claim.variantId);
      if (productId === undefined) continue;
      const known = this.#claims.get(productId) ?? new Map<string, Claim>();
      if (known.size === 0 && this.#claims.size >= MOST_NAMED) continue;
      this.#claims.set(productId, known.set(`${claim.variantId}/${claim.warehouseId}`, claim));
    }
  }

  async #afterRefusal(nowMs: number): Promise<void> {
    this.#isRefusing = false;
    this.#afterRefusals.begin(nowMs);
    this.#left = this.#claims.size > 0 ? [...this.#claims.keys()] : await this.#latest();
  }

  /** @param silentAfterMs arrival of the webhook before an unusual silence; null if webhooks arrive as usual. */
  async #followSilence(silentAfterMs: number | null, nowMs: number): Promise<void> {
    const before = this.#silentAfterMs;
    this.#silentAfterMs = silentAfterMs;
    if (before === null && silentAfterMs === null) return;
    const isNew = before !== silentAfterMs;
    if (isNew) this.#inSilence.end();
    if (!this.#inSilence.isOver(nowMs)) return;
    this.#inSilence.begin(nowMs);
    // Later probes compare with the first one.
    this.#left = isNew ? await this.#latest() : await this.#latestOnce();
  }

  async #latest(): Promise<string[]> {
    const latest = await this.#latestOnce();
    const few = latest.slice(0, FEW);
    return [...Array.from({ length: ROUNDS_OF_FEW }, () => few).flat(), ...latest];
  }

  #latestOnce(): Promise<string[]> {
    return this.#deps.mirror.ask('latestChanged', { limit: MANY });
  }

  /** It is proven that webhooks are missing: the next one ends it. */
  #rest(): void {
    this.#left = [];
    this.#isRefusing = false;
    this.#silentAfterMs = null;
    this.#inSilence.end();
  }
}
