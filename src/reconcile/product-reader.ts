import { fullJitterMs } from '../store-api/backoff.ts';
import type { Fact } from '../core/apply/fact.ts';
import type { Claim } from '../core/input.ts';
import { isGivenUp } from '../core/runs.ts';
import type { CatalogueClient } from '../store-api/endpoints/products.ts';
import { isFinal, ServiceError } from '../store-api/transport/errors.ts';
import { snapshotOf } from '../store-api/snapshot.ts';
import { SqliteFault } from '../sqlite/errors.ts';
import type { MirrorReader, MirrorWriter } from '../mirror/mirror.ts';
import type { Logger } from '../platform/log.ts';
import { messageOf } from '../platform/thrown.ts';
import type { Throttle } from './throttle.ts';

export interface ReadingDeps {
  readonly mirror: MirrorReader & MirrorWriter;
  readonly client: CatalogueClient;
  readonly throttle: Throttle;
  readonly now: () => number;
  readonly random: () => number;
  readonly log: Logger;
}

const RETRY = { baseMs: 500, capMs: 60_000 };
/** A person may have to fix an answer that is not the store's, or that cannot be saved. */
const ODD_ANSWER_RETRY = { baseMs: 2_000, capMs: 15 * 60_000 };

/** @returns the effects of the answer. @throws ServiceError, SqliteFault */
export async function readProduct(
  { mirror, client, throttle, now }: Omit<ReadingDeps, 'random' | 'log'>,
  productId: string,
  claims: readonly Claim[],
  signal: AbortSignal,
): Promise<readonly Fact[]> {
  const answer = await throttle.send(() => client.productDetail(productId, { signal }));
  const { sentAtMs, receivedAtMs, serverDateMs, requestId } = answer;
  const { facts } = await mirror.append({
    kind: 'read',
    atMs: Math.max(now(), receivedAtMs),
    productId,
    sentAtMs,
    receivedAtMs,
    serverDateMs,
    requestId,
    snapshot:
      answer.outcome === 'found' ? snapshotOf(answer.product, JSON.stringify(answer.rawProduct)) : null,
    claims,
  });
  return facts;
}

/** The mirror is closed, or its disk is full. Only `cannot_commit` concerns the answer itself. */
export function isFaultOfMirror(error: unknown): boolean {
  return error instanceof SqliteFault && error.kind !== 'cannot_commit';
}

/**
 * Call it for errors that are no fault of the mirror. @throws SqliteFault
 * @param answeredAtMs of the store's last answer.
 * @returns true if the read waits for a schedule or an operator.
 */
export async function recordFailure(
  deps: Pick<ReadingDeps, 'mirror' | 'now' | 'random'>,
  { productId, priority }: { readonly productId: string; readonly priority: number },
  error: unknown,
  answeredAtMs: number,
): Promise<boolean> {
  const kind = error instanceof ServiceError ? error.kind : null;
  // These hold back every read and are not the product's fault.
  if (kind === 'aborted' || kind === 'credentials' || kind === 'rate_limited') return false;
  const { mirror, now, random } = deps;
  const before = await mirror.ask('failureOf', { productId });
  const attempts = before.attempts + 1;
  // A failure while the store answers nothing is not the product's fault.
  const faults = before.faults + (before.failedAtMs === null || answeredAtMs > before.failedAtMs ? 1 : 0);
  const policy = kind === 'contract' || kind === null ? ODD_ANSWER_RETRY : RETRY;
  const parked = error instanceof ServiceError && isFinal(error);
  const retryAfterMs = error instanceof ServiceError ? (error.retryAfterMs ?? 0) : 0;
  const atMs = now();
  await mirror.command('failRead', {
    atMs,
    productId,
    priority,
    attempts,
    faults,
    retryAtMs: parked ? 0 : atMs + Math.max(retryAfterMs, fullJitterMs(attempts, policy, random())),
    parked,
    isGivenUp: isGivenUp({ parked, faults }),
    error: messageOf(error),
  });
  return parked;
}
