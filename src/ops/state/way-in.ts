/** Whether the store's webhooks reach this mirror (docs/operating.md#proof-of-the-way-in). */
import type { ReceiverReport, RefusalCount } from '../../inbox/report.ts';

export const OF_THE_STORE = [
  'wrong_signature',
  'missing_signature',
  'malformed_signature',
  'wrong_address',
] as const;

export interface RefusedRequests extends RefusalCount {
  readonly reason: (typeof OF_THE_STORE)[number];
}

/** Refused since the last accepted webhook, for what the store itself may have sent. */
export function refusedSince({ accepted, refused }: ReceiverReport): RefusedRequests[] {
  return OF_THE_STORE.flatMap((reason) => {
    const found = refused[reason];
    return found === undefined || found.lastAtMs < (accepted.lastAtMs ?? 0) ? [] : [{ reason, ...found }];
  });
}

/** Requests that name variants of this store: strangers do not know them. */
export function lookLikeTheStore(
  refused: readonly RefusedRequests[],
  isKnown: (variantId: string) => boolean,
): RefusedRequests | null {
  return refused.find(({ variantIds }) => variantIds.some(isKnown)) ?? null;
}
