/** All alarm rules, applied to one view of the mirror. Uses no clock and no database. */
import type { Finding } from './alarm.ts';
import { areSignaturesBad, type SignatureView } from './bad-signatures.ts';
import { unusualSilence, type SilenceView } from './silence.ts';
import { causeLine } from '../condition/cause.ts';
import { applyTrouble, BEHIND_MS, commitTrouble, type OwnTrouble } from '../condition/own-trouble.ts';
import { storeTrouble, type Blocked } from '../condition/store-trouble.ts';
import { heldWords, type HeldRemovals } from './held-words.ts';

export interface WatchedState {
  readonly silence: SilenceView;
  readonly signatures: SignatureView;
  /** Why no request is sent to the store at present, and since when. */
  readonly blocked: (Blocked & { readonly sinceMs: number }) | null;
  readonly own: OwnTrouble;
  readonly held: HeldRemovals;
  readonly parkedReads: number;
}

/** A short lock or one slow write is no alarm. */
const NO_COMMIT_MS = 10_000;
/** The circuit breaker opens and closes with every short failure of the store. */
const UNREACHABLE_MS = 5 * 60_000;

export function judge(state: WatchedState): Finding[] {
  const { nowMs } = state.silence;
  const findings: (Finding | null)[] = [
    judgeSilence(state),
    judgeSignatures(state),
    judgeCommits(state, nowMs),
    judgeApplying(state, nowMs),
    judgeBlocked(state, nowMs),
    judgeRemovals(state),
    judgeParked(state),
  ];
  return findings.filter((finding) => finding !== null);
}

function judgeSilence({ silence }: WatchedState): Finding | null {
  const since = unusualSilence(silence);
  if (since === null) return null;
  const what =
    silence.lastDeliveryAtMs === null
      ? 'has ever arrived from the store'
      : 'has arrived from the store for far longer than usual';
  return {
    kind: 'silence',
    since,
    message:
      `no webhook ${what}: figures may be out of date. Check in the store's app settings that the webhook URL is right and the ` +
      'event is enabled, then the proxy in front of the public listener; `resync` reads what was missed',
  };
}

function judgeSignatures({ signatures }: WatchedState): Finding | null {
  if (!areSignaturesBad(signatures)) return null;
  const { wrong, right } = signatures.lastHour;
  return {
    kind: 'bad_signatures',
    message:
      `${wrong} webhooks of the last hour were refused because they were signed with another secret; ${right} were signed ` +
      'with the configured one. If the secret was replaced in the store, figures are missing changes: set ' +
      'SERVICE_WEBHOOK_SECRET to the new secret and SERVICE_WEBHOOK_SECRET_PREVIOUS to the old one, restart the mirror, ' +
      'then `resync`. If it was not, another program sends forged webhooks; they change nothing',
  };
}

function judgeCommits({ own }: WatchedState, nowMs: number): Finding | null {
  if (nowMs - own.commits.lastGoodAtMs < NO_COMMIT_MS) return null;
  const cause = commitTrouble(own, nowMs);
  if (cause === null) return null;
  return { kind: 'store_cannot_commit', since: own.commits.lastGoodAtMs, message: causeLine(cause) };
}

function judgeApplying({ own }: WatchedState, nowMs: number): Finding | null {
  const { behindSinceMs: since } = own;
  if (since === null || nowMs - since < BEHIND_MS) return null;
  const cause = applyTrouble(own, nowMs);
  return cause === null ? null : { kind: 'tables_behind', since, message: causeLine(cause) };
}

function judgeBlocked({ blocked }: WatchedState, nowMs: number): Finding | null {
  if (blocked === null) return null;
  const { sinceMs: since } = blocked;
  const message = causeLine(storeTrouble(blocked));
  switch (blocked.kind) {
    case 'credentials':
    case 'wrong_store':
      return { kind: blocked.kind, since, message };
    default:
      if (nowMs - since < UNREACHABLE_MS) return null;
      return { kind: 'service_unreachable', since, message };
  }
}

function judgeRemovals({ held }: WatchedState): Finding | null {
  if (held.held_removals === 0) return null;
  return {
    kind: 'held_removals',
    message:
      `the store no longer shows ${heldWords(held)}, too many at once: the mirror keeps them until you decide. Check in ` +
      'the store whether they were meant to be deleted; if so, `resync --allow-removals` removes them',
  };
}

function judgeParked({ parkedReads }: WatchedState): Finding | null {
  if (parkedReads === 0) return null;
  return {
    kind: 'parked_reads',
    message:
      `products that cannot be read, because the store refuses them or their reads keep failing: ${parkedReads}. Their rows ` +
      'may be out of date; `status` shows the latest error, `resync` retries them',
  };
}
