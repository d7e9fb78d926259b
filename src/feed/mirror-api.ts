/** Requests to the mirror's private listener (docs/http-api.md). */
import {
  hasReadAll,
  toChangesPage,
  toSellablePage,
  toStartOver,
  type ChangesPage,
  type SellablePage,
} from './answers.ts';
import { FeedError, StartOver } from './errors.ts';
import type { Position, SellableRow } from './model.ts';

interface PresentRows {
  readonly rows: readonly SellableRow[];
  /** Epoch ms, mirror's clock; 0 if no variant was named. */
  readonly asOfMs: number;
}

type UrlQuery = Readonly<Record<string, string | number>>;

interface MirrorApiOptions {
  readonly url: string | URL;
  readonly token?: string | undefined;
}

export const ANSWER_WITHIN_MS = 30_000;
const PAGE_ROWS = 1_000;
const CHANGES_ROWS = 500;
/** The most that one request may name. */
const VARIANTS_AT_ONCE = 100;
const LONGEST_TEXT = 300;

export class MirrorApi {
  readonly #base: string;
  readonly #headers: Readonly<Record<string, string>>;

  /** @throws TypeError for an address that is none, or has credentials. */
  constructor({ url, token }: MirrorApiOptions) {
    const parsed = new URL(url);
    if (parsed.username !== '' || parsed.password !== '') {
      throw new TypeError('url: give the token as `token`, not in the address');
    }
    this.#base = `${parsed.origin}${parsed.pathname.replace(/\/+$/, '')}`;
    this.#headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  }

  /** @throws FeedError not_ready */
  async untilReadAll(signal: AbortSignal): Promise<void> {
    if (hasReadAll(await this.#json('/api/status', {}, signal))) return;
    throw new FeedError('not_ready', 'the mirror has not read the whole store yet');
  }

  async sellable(after: string | null, signal: AbortSignal): Promise<SellablePage> {
    const query: UrlQuery = after === null ? { limit: PAGE_ROWS } : { limit: PAGE_ROWS, after };
    return toSellablePage(await this.#json('/api/sellable', query, signal));
  }

  /** The present rows of these variants, and the time of the last answer. */
  async rowsOf(variantIds: readonly string[], signal: AbortSignal): Promise<PresentRows> {
    const rows: SellableRow[] = [];
    let asOfMs = 0;
    for (let from = 0; from < variantIds.length; from += VARIANTS_AT_ONCE) {
      const ids = variantIds.slice(from, from + VARIANTS_AT_ONCE).join(',');
      for (let after: string | null | undefined; after !== null;) {
        const query: UrlQuery = { variant_id: ids, limit: PAGE_ROWS };
        const page = toSellablePage(
          await this.#json('/api/sellable', after === undefined ? query : { ...query, after }, signal),
        );
        rows.push(...page.sellable);
        asOfMs = Math.max(asOfMs, page.as_of);
        after = page.has_more ? page.next : null;
      }
    }
    return { rows, asOfMs };
  }

  async changes({ epoch, seq }: Position, signal: AbortSignal): Promise<ChangesPage> {
    const query = { epoch, after: seq, limit: CHANGES_ROWS };
    return toChangesPage(await this.#json('/api/changes', query, signal));
  }

  /** @returns the bytes of the stream. The signal ends it. */
  async stream({ epoch, seq }: Position, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    const response = await this.#ask('/api/changes/stream', { epoch, after: seq }, signal);
    const type = response.headers.get('content-type') ?? '';
    if (response.body === null || !type.startsWith('text/event-stream')) {
      await response.body?.cancel();
      throw new FeedError('malformed', `the stream has the type ${type}`);
    }
    return response.body;
  }

  async #json(path: string, query: UrlQuery, signal: AbortSignal): Promise<unknown> {
    const limit = AbortSignal.timeout(ANSWER_WITHIN_MS);
    const response = await this.#ask(path, query, AbortSignal.any([signal, limit]));
    const text = await response.text().catch((error: unknown) => {
      throw new FeedError('unavailable', `${path}: the answer was cut off`, { cause: error });
    });
    try {
      return JSON.parse(text);
    } catch (error) {
      throw new FeedError('malformed', `${path} answered ${short(text)}`, { cause: error });
    }
  }

  /** @throws FeedError, StartOver unless the answer is 200. */
  async #ask(path: string, query: UrlQuery, signal: AbortSignal): Promise<Response> {
    const parameters = Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]);
    const url = `${this.#base}${path}?${String(new URLSearchParams(parameters))}`;
    let response: Response;
    try {
      response = await fetch(url, { headers: this.#headers, signal });
    } catch (error) {
      const { cause } = error as Error;
      const why = cause instanceof Error ? cause.message : String(error);
      throw new FeedError('unavailable', `${this.#base}${path} does not answer: ${why}`, { cause: error });
    }
    if (response.status === 200) return response;
    const text = await response.text().catch(() => '');
    if (response.status === 409 || response.status === 410) {
      throw new StartOver(toStartOver(parsedOrNull(text)));
    }
    const said = `${path} answered ${response.status}: ${short(text)}`;
    if (response.status === 401 || response.status === 403) throw new FeedError('refused', said);
    const retryAfterS = Number(response.headers.get('retry-after') ?? Number.NaN);
    const retryAfterMs = Number.isFinite(retryAfterS) ? retryAfterS * 1_000 : undefined;
    throw new FeedError('unavailable', said, { retryAfterMs });
  }
}

function parsedOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function short(text: string): string {
  return text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}…` : text;
}
