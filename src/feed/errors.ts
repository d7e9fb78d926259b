import type { StartOverReason } from './model.ts';

export type FeedErrorKind =
  /** No answer, or an answer of a proxy that means the same. */
  | 'unavailable'
  /** The mirror has not read the whole store yet. */
  | 'not_ready'
  /** Not an answer of a mirror. */
  | 'malformed'
  /** The token or the name of the host is refused. */
  | 'refused';

interface Details {
  readonly cause?: unknown;
  readonly retryAfterMs?: number | undefined;
}

export class FeedError extends Error {
  readonly kind: FeedErrorKind;
  /** null: the answer named no time. */
  readonly retryAfterMs: number | null;

  constructor(kind: FeedErrorKind, message: string, { cause, retryAfterMs }: Details = {}) {
    super(message, { cause });
    this.name = 'FeedError';
    this.kind = kind;
    this.retryAfterMs = retryAfterMs ?? null;
  }
}

/** The feed cannot continue from the position. */
export class StartOver extends Error {
  readonly reason: StartOverReason;

  constructor(reason: StartOverReason) {
    super(`start over: ${reason}`);
    this.reason = reason;
  }
}
