/** All rules of the alarms, over one view of the mirror. Knows no clock and no database. */
import type { Finding } from './alarm.ts';
import { areSignaturesBad, type SignatureView } from './bad-signatures.ts';
import { unusualSilence, type SilenceView } from './silence.ts';

export interface WatchedState {
  readonly silence: SilenceView;
  readonly signatures: SignatureView;
  /** Why the service is not asked at present, and since when that reason stands. */
  readonly blocked: { readonly kind: string; readonly message: string; readonly sinceMs: number } | null;
  readonly commits: {
    /** When a transaction last succeeded. One is tried every second. */
    readonly lastGoodAtMs: number;
    /** What the last one failed for, if it did. */
    readonly lastError: string | null;
  };
  readonly heldRemovals: number;
  readonly parkedReads: number;
}

/** A lock of a moment, or one slow write, is no alarm. */
const NO_COMMIT_MS = 10_000;
/** The breaker opens and closes with every hiccup of the service. */
const UNREACHABLE_MS = 5 * 60_000;

export function judge(state: WatchedState): Finding[] {
  const { nowMs } = state.silence;
  const findings: (Finding | null)[] = [
    judgeSilence(state),
    judgeSignatures(state),
    judgeCommits(state, nowMs),
    judgeBlocked(state, nowMs),
    judgeRemovals(state),
    judgeParked(state),
  ];
  return findings.filter((finding) => finding !== null);
}

function judgeSilence({ silence }: WatchedState): Finding | null {
  const since = unusualSilence(silence);
  if (since === null) return null;
  const what = silence.lastDeliveryAtMs === null ? 'has ever come' : 'comes, for far longer than usual';
  return {
    kind: 'silence',
    since,
    message:
      `no webhook ${what}: check the webhook URL and the event's switch in the app at the service, ` +
      'and the proxy before the public listener; `resync` reads meanwhile what was missed',
  };
}

function judgeSignatures({ signatures }: WatchedState): Finding | null {
  if (!areSignaturesBad(signatures)) return null;
  const { wrong, right } = signatures.lastHour;
  return {
    kind: 'bad_signatures',
    message:
      `${wrong} webhooks of the last hour were signed with another secret, ${right} with ours: if it was replaced at ` +
      'the service, set SERVICE_WEBHOOK_SECRET to the new one and SERVICE_WEBHOOK_SECRET_PREVIOUS to the old one, ' +
      'start again, then `resync`; if not, somebody forges them',
  };
}

function judgeCommits({ commits }: WatchedState, nowMs: number): Finding | null {
  if (nowMs - commits.lastGoodAtMs < NO_COMMIT_MS) return null;
  return {
    kind: 'store_cannot_commit',
    since: commits.lastGoodAtMs,
    message: `deliveries are refused with 503: ${commits.lastError ?? 'the disk answers no write'}`,
  };
}

function judgeBlocked({ blocked }: WatchedState, nowMs: number): Finding | null {
  if (blocked === null) return null;
  const { message, sinceMs: since } = blocked;
  switch (blocked.kind) {
    case 'credentials':
    case 'wrong_store':
      return { kind: blocked.kind, since, message };
    default:
      if (nowMs - since < UNREACHABLE_MS) return null;
      return {
        kind: 'service_unreachable',
        since,
        message: `the service cannot be read, it is tried again all the time: ${message}`,
      };
  }
}

function judgeRemovals({ heldRemovals }: WatchedState): Finding | null {
  if (heldRemovals === 0) return null;
  return {
    kind: 'held_removals',
    message:
      `${heldRemovals} products are gone from the service at once, and kept here: look there whether that is meant; ` +
      'if so, `resync --allow-removals` removes them',
  };
}

function judgeParked({ parkedReads }: WatchedState): Finding | null {
  if (parkedReads === 0) return null;
  return {
    kind: 'parked_reads',
    message:
      `products that cannot be read, refused or failing over and over: ${parkedReads}. Their rows stay as suspect as ` +
      'they were; `status` shows the latest error, `resync` tries them again',
  };
}
