/**
 * Ensures that the stream holds a history that continues the lead's log. A new one begins with a base. Deliveries that were
 * accepted before the base and are in no log yet are published again after it; then everything before it is deleted.
 */
import { randomBytes } from 'node:crypto';
import { rest } from '../../platform/sleep.ts';
import { encodeEpoch } from '../../event-log/encode-epoch.ts';
import type { LeadStanding } from '../transport.ts';
import { attempt } from './attempt.ts';
import type { Live } from './connection.ts';
import { apiCodeOf, WRONG_LAST_SEQUENCE } from './failure.ts';
import {
  AFTER,
  readCursor,
  readState,
  verdictOn,
  type After,
  type Base,
  type StreamState,
} from './history.ts';
import { encodeRow } from './message.ts';
import type { Parts } from './parts.ts';
import { purgeBefore } from './purge.ts';
import { readNote } from './snapshot-note.ts';
import { Tail } from './tail.ts';

/** Clocks of the engine's servers differ by less. */
const CLOCKS_DIFFER_NANOS = 60_000_000_000n;
const BYTES_AT_ONCE = 4 << 20;
const NEVER = new AbortController().signal;

/**
 * Servers that were all restarted at first know only what they had applied, and recover the rest from their logs within
 * seconds. A history that is missing for this long is lost.
 */
const LOST_FOR_MS = 10_000;
const LOOK_EVERY_MS = 500;

/** @throws TransportError when that is not known, or not for long enough. */
export async function keepHistory(parts: Parts, from: LeadStanding): Promise<boolean> {
  const untilMs = performance.now() + LOST_FOR_MS;
  // A log that has copied nothing can have lost nothing.
  while (from.cursor !== null && performance.now() < untilMs) {
    if (
      await attempt(parts, 'the history in the engine cannot be looked at', (live) =>
        isThere(parts, live, from),
      )
    )
      break;
    await rest(LOOK_EVERY_MS, NEVER);
  }
  return keepOrBegin(parts, from);
}

async function isThere(parts: Parts, live: Live, from: LeadStanding): Promise<boolean> {
  return isFollowable(parts, live, from, await readState(live, parts.layout.names, readCursor(from.cursor)));
}

function keepOrBegin(parts: Parts, from: LeadStanding): Promise<boolean> {
  return attempt(parts, 'the history in the engine cannot be kept', async (live) => {
    const { names } = parts.layout;
    const state = await readState(live, names, readCursor(from.cursor));
    if (await isFollowable(parts, live, from, state)) {
      // Whoever began it may have died before it was done.
      if (state.base !== null && state.firstSeq < state.base.seq) await finish(parts, live, state.base);
      return false;
    }
    if (!(await begin(parts, live, from, state))) return false;
    const { base } = await readState(live, names, null);
    if (base !== null) await finish(parts, live, base);
    return true;
  });
}

/** By somebody at least: a log that the history has left behind is replaced by a snapshot. */
async function isFollowable(
  parts: Parts,
  live: Live,
  from: LeadStanding,
  state: StreamState,
): Promise<boolean> {
  const verdict = verdictOn(from, state, parts.rules);
  if (['none', 'lost', 'earlier_rules'].includes(verdict.type)) return false;
  if (verdict.type === 'other') return !from.isStranded;
  if (verdict.type !== 'after') return true;
  // The next one was deleted by hand: replicas on either side of it would differ.
  const next = verdict.seq + 1;
  if (next > state.lastSeq) return true;
  if ((await live.jsm.streams.getMessage(parts.layout.names.stream, { seq: next })) !== null) return true;
  return next < ((await readNote(parts))?.floor ?? 0);
}

/** @returns false when another lead was faster: what it began is looked at first. */
async function begin(
  { client, layout, rules }: Parts,
  { js }: Live,
  { epoch: epochBefore, lastSeq, cursor, changeSeq, nowMs }: LeadStanding,
  state: StreamState,
): Promise<boolean> {
  const { names } = layout;
  const storedAt = readCursor(cursor)?.storedAt;
  const againFrom = storedAt === undefined ? 0n : BigInt(storedAt) - CLOCKS_DIFFER_NANOS;
  const after: After = { epoch: epochBefore, lastSeq, againFrom: String(againFrom), rules };
  const epoch = randomBytes(8).toString('hex');
  const entry = encodeEpoch({
    kind: 'epoch',
    atMs: nowMs,
    givenOutSeq: changeSeq,
    epoch,
    reachedFrom: { low: 0, high: lastSeq },
  });
  const row = { ...entry, seq: lastSeq + 1 };
  const { headers, data } = await encodeRow(row, client.transport.headers());
  headers.set(AFTER, JSON.stringify(after));
  try {
    await js.publish(names.base, data, {
      headers,
      msgID: `base-${epoch}`,
      expect: { lastSubjectSequence: state.base?.seq ?? 0 },
    });
    return true;
  } catch (error) {
    const code = apiCodeOf(error);
    if (code !== null && WRONG_LAST_SEQUENCE.has(code)) return false;
    throw error;
  }
}

/** As often as it takes: what was published again is recognised by its id. */
async function finish(parts: Parts, live: Live, base: Base): Promise<void> {
  const { stream } = parts.layout.names;
  await publishAgain(parts, live, base);
  await purgeBefore(live, stream, { seq: base.seq, filter: null });
}

async function publishAgain({ client, connection, layout }: Parts, live: Live, base: Base): Promise<void> {
  const { stream, delivery } = layout.names;
  const { seq: first, after } = base;
  const start = new Date(Number(BigInt(after.againFrom) / 1_000_000n));
  const tail = await Tail.open({ connection, live, client, stream, start, subject: delivery });
  try {
    let isDone = tail.found === 0;
    while (!isDone) {
      await tail.more(1_000, NEVER);
      const arrived = tail.take(BYTES_AT_ONCE);
      const earlier = arrived.filter(({ seq }) => seq < first);
      await Promise.all(
        earlier.map(({ subject, headers = client.transport.headers(), data }) =>
          live.js.publish(subject, data, { headers, msgID: `${headers.get('Nats-Msg-Id')}-${first}` }),
        ),
      );
      const last = arrived.at(-1);
      isDone = last !== undefined && (last.seq > first || last.pending === 0);
    }
  } finally {
    tail.close();
  }
}
