/** Whether the store's webhooks reach this mirror (docs/operating.md#proof-of-the-way-in). */
import {
  DOUBTFUL_REASONS,
  type DoubtfulReason,
  type ReceiverReport,
  type RefusalCount,
  type RefusalReason,
  type RefusedWebhooks,
} from '../../inbox/report.ts';

/** Requests that name variants of this store: strangers do not know them. */
export function lookLikeTheStore(
  refused: readonly RefusedWebhooks[],
  isKnown: (variantId: string) => boolean,
): RefusedWebhooks | null {
  return refused.find(({ variantIds }) => variantIds.some(isKnown)) ?? null;
}

export interface TurnedAway {
  readonly reason: DoubtfulReason;
  readonly atMs: number;
  /** The parser's code, if it did not understand the request. */
  readonly seen: string | null;
}

/** The latest request that was refused unread and may have been a delivery. */
export function turnedAwayIn(report: ReceiverReport): TurnedAway | null {
  const latest = latestOf(report, DOUBTFUL_REASONS);
  return latest === null ? null : { reason: latest.reason, atMs: latest.lastAtMs, seen: latest.seen };
}

export interface Misdirected {
  readonly reason: 'wrong_address' | 'wrong_protocol';
  /** The method and path, or the protocol. */
  readonly seen: string;
  readonly atMs: number;
}

/**
 * The latest request that may be the store's and missed `POST /webhooks`; null after an accepted delivery, which shows that
 * the store's requests do not miss it.
 */
export function misdirectedIn(report: ReceiverReport): Misdirected | null {
  const latest = latestOf(report, ['wrong_address', 'wrong_protocol'] as const);
  if (latest === null || latest.lastAtMs <= (report.accepted.lastAtMs ?? 0)) return null;
  return { reason: latest.reason, seen: latest.seen ?? '', atMs: latest.lastAtMs };
}

function latestOf<Reason extends RefusalReason>(
  { refused }: ReceiverReport,
  reasons: readonly Reason[],
): (RefusalCount & { readonly reason: Reason }) | null {
  const found = reasons.flatMap((reason) => {
    const refusal = refused[reason];
    return refusal === undefined ? [] : [{ ...refusal, reason }];
  });
  return found.toSorted((a, b) => b.lastAtMs - a.lastAtMs)[0] ?? null;
}
