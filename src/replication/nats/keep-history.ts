/**
 * Ensures that the stream holds a history that continues the lead's log. A new one begins with a base. Deliveries that were
 * accepted before the base and are in no log yet are published again after it; then everything before it is deleted.
 */
import { randomBytes } from 'node:crypto';
import { rest } from '../../platform/sleep.ts';
import { TransportError, type LeadStanding } from '../transport.ts';
import { attempt } from './attempt.ts';
import type { Live } from './connection.ts';
import { isFollowable, LOOK_EVERY_MS, LOST_FOR_MS, newBase } from './consequences.ts';
import { apiCodeOf, WRONG_LAST_SEQUENCE } from './failure.ts';
import { AFTER, readCursor, readState, verdictOn, type Base, type StreamState } from './history.ts';
import { encodeRow } from './message.ts';
import type { Parts } from './parts.ts';
import { purgeBefore } from './purge.ts';
import { readNote } from './snapshot-note.ts';
import { Tail } from './tail.ts';

const BYTES_AT_ONCE = 4 << 20;
const NEVER = new AbortController().signal;

/** @throws TransportError when that is not known, or not for long enough; also when aborted before it began one. */
export async function keepHistory(parts: Parts, from: LeadStanding, signal: AbortSignal): Promise<boolean> {
  const untilMs = performance.now() + LOST_FOR_MS;
  // A log that has copied nothing can have lost nothing.
  while (from.cursor !== null && performance.now() < untilMs) {
    if (
      await attempt(parts, 'the history in the engine cannot be looked at', (live) =>
        isThere(parts, live, from),
      )
    )
      break;
    await rest(LOOK_EVERY_MS, signal);
    if (signal.aborted)
      throw new TransportError('this replica stopped leading before it was known whether a history is lost');
  }
  return keepOrBegin(parts, from);
}

async function isThere(parts: Parts, live: Live, from: LeadStanding): Promise<boolean> {
  return leadsOn(parts, live, from, await readState(live, parts.layout.names, readCursor(from.cursor)));
}

function keepOrBegin(parts: Parts, from: LeadStanding): Promise<boolean> {
  return attempt(parts, 'the history in the engine cannot be kept', async (live) => {
    const { names } = parts.layout;
    const state = await readState(live, names, readCursor(from.cursor));
    if (await leadsOn(parts, live, from, state)) {
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

/** Not when the next message was deleted by hand: replicas on either side of it would differ. */
async function leadsOn(parts: Parts, live: Live, from: LeadStanding, state: StreamState): Promise<boolean> {
  const verdict = verdictOn(from, state, parts.rules);
  if (!isFollowable(from, state, parts.rules)) return false;
  if (verdict.type !== 'after') return true;
  const next = verdict.seq + 1;
  if (next > state.lastSeq) return true;
  if ((await live.jsm.streams.getMessage(parts.layout.names.stream, { seq: next })) !== null) return true;
  return next < ((await readNote(parts))?.floor ?? 0);
}

/** @returns false when another lead was faster: what it began is looked at first. */
async function begin(
  { client, layout, rules }: Parts,
  { js }: Live,
  from: LeadStanding,
  state: StreamState,
): Promise<boolean> {
  const { names } = layout;
  const epoch = randomBytes(8).toString('hex');
  const { row, after } = newBase(from, { epoch, rules });
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
