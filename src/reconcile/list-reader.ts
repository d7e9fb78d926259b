/**
 * Pages of the store's product list. If a page fails while the store lists other rows, it is read in halves down to the
 * faulty rows, which are skipped (docs/architecture.md#catalogue-scan).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { fullJitterMs } from '../store-api/backoff.ts';
import type { ProductListRequest } from '../store-api/contract/schemas.ts';
import type { ProductListAnswer } from '../store-api/endpoints/products.ts';
import { ServiceError, summary, type ServiceErrorKind } from '../store-api/transport/errors.ts';
import type { ReadingDeps } from './product-reader.ts';

export const PAGE = 100;
/** More rows that cannot be listed are not single ones: the rest of the list is left out. */
export const MOST_GAPS = 10;

const RETRY = { baseMs: 1_000, capMs: 60_000 };
/** A person must fix why the store rejects a request. */
const REJECTED_RETRY = { baseMs: 10_000, capMs: 15 * 60_000 };
/** A page that fails as often in a row is not an accident. */
const TRIES = 3;
/** These concern every request. */
const OF_ALL: ReadonlySet<ServiceErrorKind> = new Set(['credentials', 'rate_limited', 'unauthorized']);

type ListDeps = Pick<ReadingDeps, 'throttle' | 'client' | 'random' | 'log'>;
type Order = Pick<ProductListRequest, 'sort_by' | 'sort_order'>;

interface Rows {
  readonly offset: number;
  readonly limit: number;
}

/** A row that the store cannot list, counted from 0, and its answer. */
export interface ListGap {
  readonly offset: number;
  readonly problem: string;
}

export interface ListedRows {
  readonly rows: ProductListAnswer['page']['products'];
  readonly hasMore: boolean;
  readonly total: number | undefined;
  readonly sentAtMs: number;
  readonly gaps: readonly ListGap[];
}

/** Retried ever more rarely until answered. @throws SqliteFault, the signal's reason. */
export async function readRows(
  deps: ListDeps,
  order: Order,
  { offset, limit }: Rows,
  signal: AbortSignal,
): Promise<ListedRows> {
  const answer = await attempt(deps, order, { offset, limit }, signal);
  if (!(answer instanceof ServiceError)) {
    const { page, sentAtMs } = answer;
    return {
      rows: page.products,
      hasMore: page.has_more && page.products.length > 0,
      total: page.total,
      sentAtMs,
      gaps: [],
    };
  }
  const sentAtMs = answer.times?.sentAtMs ?? 0;
  if (limit === 1) {
    const problem = summary(answer);
    deps.log.warn(
      { err: answer, offset },
      'the store cannot list one of its products: its row is skipped, and the list removes no product',
    );
    return { rows: [], hasMore: true, total: undefined, sentAtMs, gaps: [{ offset, problem }] };
  }
  const half = Math.floor(limit / 2);
  const first = await readRows(deps, order, { offset, limit: half }, signal);
  if (!first.hasMore || first.gaps.length >= MOST_GAPS) return first;
  const second = await readRows(deps, order, { offset: offset + half, limit: limit - half }, signal);
  return {
    ...second,
    rows: [...first.rows, ...second.rows],
    sentAtMs: first.sentAtMs,
    gaps: [...first.gaps, ...second.gaps],
  };
}

/** @returns an error if these rows are at fault: the store lists others. */
async function attempt(
  deps: ListDeps,
  order: Order,
  rows: Rows,
  signal: AbortSignal,
): Promise<ProductListAnswer | ServiceError> {
  for (let tries = 1; ; tries += 1) {
    const answer = await ask(deps, { ...order, ...rows, get_count: true }, signal);
    if (!(answer instanceof ServiceError)) return answer;
    const isOfRows = tries >= TRIES && !OF_ALL.has(answer.kind);
    if (isOfRows && (await lists(deps, order, rows, signal))) return answer;
    const isRejected = answer.kind === 'rejected';
    const jitterMs = fullJitterMs(tries, isRejected ? REJECTED_RETRY : RETRY, deps.random());
    const waitMs = Math.max(answer.retryAfterMs ?? 0, jitterMs);
    const isNews = isRejected || answer.kind === 'contract';
    deps.log[isNews ? 'warn' : 'debug'](
      { err: answer, waitMs },
      'the store did not answer its product list; trying again',
    );
    await sleep(waitMs, undefined, { signal });
  }
}

/** Whether the store lists another row now. */
async function lists(deps: ListDeps, order: Order, { offset }: Rows, signal: AbortSignal): Promise<boolean> {
  const elsewhere = { offset: offset === 0 ? PAGE : 0, limit: 1 };
  return !((await ask(deps, { ...order, ...elsewhere }, signal)) instanceof ServiceError);
}

async function ask(
  { throttle, client }: ListDeps,
  request: ProductListRequest,
  signal: AbortSignal,
): Promise<ProductListAnswer | ServiceError> {
  await throttle.turn(signal);
  try {
    return await throttle.send(() => client.listProducts(request, { signal }));
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ServiceError) return error;
    throw error;
  }
}
