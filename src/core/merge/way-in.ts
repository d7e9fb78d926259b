/**
 * Whether the store's webhooks reach this mirror, judged by webhooks that the store signed and by its answers
 * (docs/architecture.md#the-way-in).
 */
import type { Claim } from '../input.ts';
import { EARLIEST_MS, GAP_GRACE_MAX_MS, REPLICA_LAG_MS } from '../limits.ts';
import type { MirrorStateRow, UntoldChange, WayIn } from '../model.ts';

/** Weight of one gap between webhooks in their mean. */
const GAP_WEIGHT = 1 / 32;
/** A longer gap, such as a night, counts as this many mean gaps. A silence of as many is unusual. */
const UNUSUAL_GAPS = 10;
/** The webhooks of one bulk edit say little about the usual gap. */
export const LEAST_MEAN_GAP_MS = 3_000;

/** A webhook of the store was accepted. */
export function afterWebhook(before: WayIn, atMs: number): Omit<WayIn, 'secrets'> {
  return {
    wayIn: 'proven',
    wayInSinceMs: before.wayIn === 'proven' ? before.wayInSinceMs : atMs,
    untold: null,
    lastWebhookAtMs: atMs,
    meanGapMs:
      before.lastWebhookAtMs === null ? before.meanGapMs : meanAfter(before, atMs - before.lastWebhookAtMs),
  };
}

/** It begins low: it grows by a quarter with each unusual gap, and falls slowly. */
function meanAfter({ meanGapMs }: WayIn, gapMs: number): number {
  const countedMs = Math.max(0, Math.min(gapMs, UNUSUAL_GAPS * meanGapMs));
  return Math.max(LEAST_MEAN_GAP_MS, Math.round(meanGapMs + (countedMs - meanGapMs) * GAP_WEIGHT));
}

/** From then on, the silence of the store is unusual; null before its first webhook. */
export function silentFromMs({
  lastWebhookAtMs,
  meanGapMs,
}: Pick<WayIn, 'lastWebhookAtMs' | 'meanGapMs'>): number | null {
  return lastWebhookAtMs === null ? null : lastWebhookAtMs + UNUSUAL_GAPS * meanGapMs;
}

/** A quantity that a read has changed. */
interface ReadDifference extends Omit<UntoldChange, 'shownAtMs'> {
  /** When the read was sent that showed `oldQty`; null if none did. */
  readonly shownBeforeMs: number | null;
  /** When a webhook last concerned the variant, also one that is known to be missed. */
  readonly eventAtMs: number;
}

/**
 * Whether the difference shows a change that a webhook should have reported. Either both reads were sent a replica's lag
 * after the last webhook, the last missed delivery of the variant and the barrier, so that their order does not matter; or
 * the later one confirms a claim.
 */
export function isUntold(
  { lastWebhookAtMs, trustedAfterMs }: Pick<MirrorStateRow, 'lastWebhookAtMs' | 'trustedAfterMs'>,
  { variantId, warehouseId, newQty, shownBeforeMs, eventAtMs }: ReadDifference,
  claims: readonly Claim[],
): boolean {
  const isClaimed = claims.some(
    (claim) => claim.variantId === variantId && claim.warehouseId === warehouseId && claim.newQty === newQty,
  );
  if (isClaimed) return true;
  const afterWebhookMs = Math.max(lastWebhookAtMs ?? EARLIEST_MS, eventAtMs) + REPLICA_LAG_MS;
  return shownBeforeMs !== null && shownBeforeMs >= Math.max(afterWebhookMs, trustedAfterMs);
}

/** A late webhook may still tell it until then. */
export function untoldDueAtMs({ shownAtMs }: Pick<UntoldChange, 'shownAtMs'>): number {
  return shownAtMs + GAP_GRACE_MAX_MS;
}

/** The grace of the untold change is over. */
export function afterGrace(before: WayIn, atMs: number): WayIn {
  const { untold, wayIn } = before;
  if (untold === null || wayIn === 'missing' || atMs < untoldDueAtMs(untold)) return before;
  return { ...before, wayIn: 'missing', wayInSinceMs: atMs };
}

/** @param fingerprints of the secrets that count from now on. Without one of those before, nothing shows that they are right. */
export function afterSecrets(before: WayIn, fingerprints: readonly string[], atMs: number): WayIn {
  const isKept = before.secrets.some((each) => fingerprints.includes(each));
  const after: WayIn = { ...before, secrets: fingerprints };
  if (isKept || before.secrets.length === 0 || before.wayIn !== 'proven') return after;
  return { ...after, wayIn: 'unproven', wayInSinceMs: atMs, untold: null };
}
