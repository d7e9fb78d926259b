/**
 * Whether the stream continues from where an event log stands. A history begins with a base: an `epoch` entry on a
 * subject of its own that names the standing it continues. A message is recognised by the instant at which the engine
 * stored it, to the nanosecond.
 */
import type { StoredMsg, StreamInfo } from '@nats-io/jetstream';
import { z } from 'zod';
import type { Standing } from '../transport.ts';
import type { Live } from './connection.ts';
import type { Names } from './layout.ts';

/** How far a log has copied the stream. Instants are nanoseconds, as text. */
const cursorSchema = z.object({
  /** When the stream was made. */
  created: z.string(),
  /** The last message, and when it was stored. */
  seq: z.number(),
  storedAt: z.string(),
  /** When the base of its history was stored. */
  baseAt: z.string(),
});
export type Cursor = z.infer<typeof cursorSchema>;

/** What a history goes on from. */
const afterSchema = z.object({
  epoch: z.string(),
  lastSeq: z.number(),
  /** Deliveries that were stored before the base, but not before this, are published again after it. */
  againFrom: z.string(),
  /** The version of the rules by which all replicas apply it. */
  rules: z.number(),
});
export type After = z.infer<typeof afterSchema>;

export interface Base {
  readonly seq: number;
  readonly storedAt: string;
  readonly after: After;
}

export interface StreamState {
  readonly created: string;
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** Null: nothing to follow yet. */
  readonly base: Base | null;
  /** When the message at the cursor's place was stored; null: there is none. */
  readonly storedAt: string | null;
  /** Somebody is there who may accept messages. */
  readonly hasLeader: boolean;
}

type Verdict =
  /** What comes after the message at the cursor. */
  | { readonly type: 'after'; readonly seq: number }
  /** From the base on, which goes on exactly from there. */
  | { readonly type: 'base'; readonly base: Base }
  /** Nothing has begun yet. */
  | { readonly type: 'none' }
  /** The log has what the stream has lost, and nobody has begun a new history since. */
  | { readonly type: 'lost'; readonly why: string }
  /** What is there does not lead on from the log. */
  | { readonly type: 'other'; readonly why: string }
  /** It is applied by an earlier version of the rules than the one here, or by a later one. */
  | { readonly type: 'earlier_rules' | 'later_rules'; readonly why: string };

export const AFTER = 'Mirror-After';

export function readCursor(cursor: unknown): Cursor | null {
  return cursorSchema.safeParse(cursor).data ?? null;
}

/** @param rules the version of them here. */
export function verdictOn({ epoch, lastSeq, cursor }: Standing, state: StreamState, rules: number): Verdict {
  const { base } = state;
  if (base === null) return { type: 'none' };
  if (base.after.rules !== rules) return verdictOnRules(base.after.rules, rules);
  const at = readCursor(cursor);
  if (at !== null && at.seq >= base.seq && isKnown(at, state)) return { type: 'after', seq: at.seq };
  const isNew = lastSeq === 0 && base.after.lastSeq === 0;
  if (isNew || (base.after.epoch === epoch && base.after.lastSeq === lastSeq)) return { type: 'base', base };
  if (at === null)
    return { type: 'other', why: 'the engine holds a history that this event log has no part in' };
  if (at.created === state.created && at.seq <= state.lastSeq && state.storedAt === null) {
    return { type: 'other', why: 'the engine does not go back to where this event log stands' };
  }
  if (BigInt(base.storedAt) <= BigInt(at.baseAt)) return { type: 'lost', why: lossOf(at, state) };
  return { type: 'other', why: 'another history has begun in the engine' };
}

/** Other rules would make other rows of the same entries. */
function verdictOnRules(there: number, here: number): Verdict {
  const why = `the history in the engine is applied by version ${there} of the rules, and this stock-mirror has version ${here}`;
  return { type: there < here ? 'earlier_rules' : 'later_rules', why };
}

function lossOf({ created, seq }: Cursor, { created: found, lastSeq }: StreamState): string {
  if (created !== found) return 'its stream was made anew';
  if (seq > lastSeq) return `its stream ends at message ${lastSeq}, and ${seq} was copied`;
  return `message ${seq} of its stream is another one than was copied`;
}

function isKnown(at: Cursor, { created, lastSeq, storedAt }: StreamState): boolean {
  return at.created === created && at.seq <= lastSeq && at.storedAt === storedAt;
}

/** @param cursor of the log that is looked at. */
export async function readState(
  live: Live,
  { stream, base }: Names,
  cursor: Cursor | null,
): Promise<StreamState> {
  const { jsm } = live;
  const info = await jsm.streams.info(stream);
  const { first_seq: firstSeq, last_seq: lastSeq } = info.state;
  const isThere = cursor !== null && cursor.seq >= firstSeq && cursor.seq <= lastSeq;
  const [baseMessage, message] = await Promise.all([
    jsm.streams.getMessage(stream, { last_by_subj: base }),
    isThere ? jsm.streams.getMessage(stream, { seq: cursor.seq }) : null,
  ]);
  return {
    created: nanosOf(info.created),
    firstSeq,
    lastSeq,
    base: baseMessage === null ? null : baseOf(baseMessage),
    storedAt: message === null ? null : nanosOf(message.timestamp),
    hasLeader: hasLeader(info),
  };
}

/** A single server has no election. */
export function hasLeader({ cluster }: StreamInfo): boolean {
  return cluster === undefined || (cluster.leader !== undefined && cluster.leader !== '');
}

function baseOf(message: StoredMsg): Base {
  return {
    seq: message.seq,
    storedAt: nanosOf(message.timestamp),
    after: afterSchema.parse(JSON.parse(message.header.get(AFTER))),
  };
}

/** Of an instant as the engine writes it, such as `2026-01-02T03:04:05.123456789Z`. */
export function nanosOf(instant: string): string {
  const [, seconds = '', fraction = '', zone = 'Z'] =
    /^(.*?)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)$/.exec(instant) ?? [];
  const ms = Date.parse(`${seconds}${zone}`);
  return String(BigInt(ms) * 1_000_000n + BigInt(fraction.padEnd(9, '0').slice(0, 9)));
}
