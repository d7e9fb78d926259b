/** One token at a time, none while refused, and no product starved (docs/architecture.md#reading-the-store). */
import { productDetailResponseSchema } from '../../../src/store-api/contract/schemas.ts';
import type { ApiCall } from '../carriers.ts';
import type { SeenDetail } from './promises.ts';

/** Reads in a row that may pass over the product read longest ago: a fifth is its share, and some are under way. */
const MOST_PASSED_OVER = 40;

export class Calls {
  readonly #fault: (what: string) => void;
  readonly #onDetail: (productId: string, detail: SeenDetail) => void;
  #tokensInFlight = 0;
  readonly #readsInFlight = new Set<string>();
  #isLockedOut = false;
  #isForgiven = false;
  #words = 0;
  #passedOver = 0;
  #oldest = '';
  wasSlowedDown = false;
  details = 0;
  tokens = 0;

  constructor(fault: (what: string) => void, onDetail: (productId: string, detail: SeenDetail) => void) {
    this.#fault = fault;
    this.#onDetail = onDetail;
  }

  died(): void {
    this.#tokensInFlight = 0;
    this.#readsInFlight.clear();
    this.#isForgiven = false;
  }

  released(): void {
    this.#isLockedOut = false;
    this.#isForgiven = this.#tokensInFlight > 0;
  }

  wordSent(): void {
    this.#words += 1;
    this.released();
  }

  wordAnswered(): void {
    this.#words -= 1;
    this.released();
  }

  /** @param oldestDue the products whose turn it is, if a request asks for the read of this one. */
  onCall(call: ApiCall, oldestDue: (productId: string) => readonly string[] | null): void {
    if (call.endpoint === '/oauth/token') this.#onToken(call);
    else if (call.endpoint === '/v1/product/detail') this.#onRead(call, oldestDue);
  }

  #onToken({ phase, status }: ApiCall): void {
    if (phase === 'sent') {
      this.tokens += 1;
      this.#tokensInFlight += 1;
      if (this.#tokensInFlight > 1) this.#fault('two token requests at once');
      if (this.#isLockedOut) this.#fault('a token was requested although the credentials were refused');
      return;
    }
    this.#tokensInFlight = Math.max(0, this.#tokensInFlight - 1);
    if (status === 401) this.#isLockedOut = !this.#isForgiven && this.#words === 0;
    this.#isForgiven = false;
    if (status === 429) this.wasSlowedDown = true;
  }

  #onRead(call: ApiCall, oldestDue: (productId: string) => readonly string[] | null): void {
    const { product_id: productId } = JSON.parse(call.body) as { product_id: string };
    if (call.phase === 'sent') {
      this.details += 1;
      this.#watchShare(productId, oldestDue(productId));
      this.#readsInFlight.add(productId);
      return;
    }
    this.#readsInFlight.delete(productId);
    if (call.text === null) return;
    const shown = shownBy(call);
    if (shown === undefined) return;
    const { sentAtMs, sampled } = call;
    const isTrue = sampled !== null && sampled.atMs !== null && sampled.isTrue;
    this.#onDetail(productId, { sentAtMs, sampledAtMs: sampled?.atMs ?? null, isTrue, shown });
  }

  #watchShare(productId: string, oldest: readonly string[] | null): void {
    if (oldest === null) return;
    const key = oldest.join();
    const hasTurn = oldest.some((id) => id === productId || this.#readsInFlight.has(id));
    if (oldest.length === 0 || key !== this.#oldest || hasTurn) {
      this.#oldest = key;
      this.#passedOver = 0;
      return;
    }
    this.#passedOver += 1;
    if (this.#passedOver === MOST_PASSED_OVER) {
      this.#fault(`${MOST_PASSED_OVER} reads passed over the products read longest ago: ${key}`);
    }
  }
}

function shownBy({ status, text }: ApiCall): SeenDetail['shown'] | undefined {
  const body: unknown = JSON.parse(text ?? 'null');
  if (status === 404 && (body as { error?: string } | null)?.error === 'not_found') return null;
  const answer = productDetailResponseSchema.safeParse(body);
  if (status !== 200 || !answer.success) return undefined;
  return new Map(
    answer.data.product.variants.map((variant) => [
      variant.product_variant_id,
      variant.warehouses === undefined
        ? null
        : new Set(variant.warehouses.map((warehouse) => warehouse.wh_id)),
    ]),
  );
}
