/** A replica's way through the stream: from where its log stands, or from the base that goes on from there. */
import type { CopiedRow } from '../../event-log/copied-row.ts';
import { CannotFollow, TransportError, type Batch, type Standing } from '../transport.ts';
import { lost, startOf } from './consequences.ts';
import { transportError } from './failure.ts';
import { hasLeader, nanosOf, readCursor, readState, type Cursor, type StreamState } from './history.ts';
import { decodeRows } from './message.ts';
import type { Parts } from './parts.ts';
import { floorOf } from './snapshot-note.ts';
import { Tail, type Arrived } from './tail.ts';
import { asError } from '../../platform/thrown.ts';

const BATCH_BYTES = 4 << 20;
const BATCH_ROWS = 512;
const LOOK_EVERY_MS = 1_000;
/** How old a look may be to say that the stream is up to date. */
const FRESH_MS = 2_000;
/** So often there was more, and nothing came: it may have been deleted by hand. */
const SIGNS_IN_VAIN = 2;

export class Follower {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** @throws CannotFollow, TransportError */
  async *follow(from: Standing, signal: AbortSignal): AsyncGenerator<Batch> {
    try {
      yield* this.#follow(from, signal);
    } catch (error) {
      if (error instanceof CannotFollow) throw error;
      this.#parts.layout.recheck(error);
      throw transportError(`the stream of ${this.#parts.connection.name} cannot be followed`, error);
    }
  }

  async *#follow(from: Standing, signal: AbortSignal): AsyncGenerator<Batch> {
    const { connection, client, layout } = this.#parts;
    const { names } = layout;
    const live = await connection.use();
    await layout.ready(live);
    const state = await readState(live, names, readCursor(from.cursor));
    const start = startOf(from, state, this.#parts.rules);
    const tail = await Tail.open({
      connection,
      live,
      client,
      stream: names.stream,
      start: start.seq,
      subject: null,
    });
    try {
      yield {
        ...NOTHING,
        cursor: from.cursor,
        left: Math.max(0, state.lastSeq - start.seq + 1),
        isLive: state.hasLeader,
      };
      yield* this.#read(tail, { from, state, next: start.seq, baseAt: start.baseAt, signal });
    } finally {
      tail.close();
    }
  }

  async *#read(tail: Tail, reading: Reading): AsyncGenerator<Batch> {
    const { state, signal } = reading;
    let { baseAt, next } = reading;
    let cursor: unknown = reading.from.cursor;
    let look = { lastSeq: state.lastSeq, hasLeader: state.hasLeader, atMs: performance.now() };
    let saidMs = performance.now();
    let signsInVain = 0;
    while (!signal.aborted) {
      const sinceMs = performance.now() - Math.min(look.atMs, saidMs);
      await tail.more(Math.max(0, LOOK_EVERY_MS - sinceMs), signal);
      if (signal.aborted) return;
      if (performance.now() - look.atMs >= LOOK_EVERY_MS) {
        look = await this.#look(state.created, next - 1);
      }
      const isLive = look.hasLeader && performance.now() - look.atMs < FRESH_MS;
      const arrived = tail.take(BATCH_BYTES);
      const last = arrived.at(-1);
      if (last !== undefined) {
        signsInVain = 0;
        const checked = await this.#check(arrived, next, baseAt);
        // The server that sends them may itself be behind, and know of no more.
        let left = Math.max(tail.waiting + last.pending, look.lastSeq - last.seq) + checked.messages.length;
        for (const portion of portionsOf(checked.messages)) {
          const end = portion.at(-1);
          if (end === undefined) continue;
          const { seq, storedAt } = end;
          next = seq + 1;
          ({ baseAt } = end);
          cursor = { created: state.created, seq, storedAt, baseAt } satisfies Cursor;
          saidMs = performance.now();
          left -= portion.length;
          const rows = portion.flatMap((message) => message.rows);
          const positions = portion.flatMap((message) => message.rows.map(() => message.seq));
          yield {
            ...NOTHING,
            rows,
            positions,
            cursor,
            left,
            isLive,
          };
        }
        if (checked.error !== null) throw checked.error;
      } else if (performance.now() - saidMs >= LOOK_EVERY_MS) {
        saidMs = performance.now();
        const left = Math.max(0, look.lastSeq - next + 1);
        signsInVain = left === 0 ? 0 : signsInVain + 1;
        if (signsInVain > SIGNS_IN_VAIN) throw await this.#gap(next);
        yield { ...NOTHING, cursor, left, isLive };
      }
    }
  }

  /** Those that go on from the last one, as rows, and what is wrong with the next one. */
  async #check(arrived: readonly Arrived[], first: number, knownBaseAt: string): Promise<Checked> {
    const { stream, base } = this.#parts.layout.names;
    const messages: Checked['messages'][number][] = [];
    let baseAt = knownBaseAt;
    let error: Error | null = null;
    for (const [i, { seq, subject, storedAt, headers, data }] of arrived.entries()) {
      if (seq !== first + i) error = await this.#gap(first + i);
      else if (subject === base && storedAt !== baseAt) {
        error = new TransportError('a new history has begun in the engine: it is looked at again');
      } else {
        try {
          const decoded = await decodeRows(headers, data, `message ${seq} of the stream ${stream}`);
          if (subject === base) baseAt = storedAt;
          messages.push({ rows: decoded, seq, storedAt, baseAt });
          continue;
        } catch (failure) {
          error = asError(failure);
        }
      }
      break;
    }
    return { messages, error };
  }

  /** What a snapshot holds may be gone; what else is gone was deleted by hand, and the replicas differ in it. */
  async #gap(seq: number): Promise<Error> {
    const floor = await floorOf(this.#parts);
    if (floor !== null && seq < floor)
      return new CannotFollow('the engine does not go back to where this event log stands', 'snapshot');
    const { connection, layout } = this.#parts;
    const { stream } = layout.names;
    const { jsm } = await connection.use();
    // What is read comes from one server, which may be behind; the leader knows.
    if ((await jsm.streams.getMessage(stream, { seq })) !== null) {
      return new TransportError(`message ${seq} of the stream ${stream} was left out: it is looked at again`);
    }
    return lost(`message ${seq} of the stream ${stream} was deleted`);
  }

  /** Once a second, so that a stream which is another one, or lost its end, is not taken for one in which nothing happens. */
  async #look(
    created: string,
    seq: number,
  ): Promise<{ readonly lastSeq: number; readonly hasLeader: boolean; readonly atMs: number }> {
    const { connection, layout } = this.#parts;
    const { jsm } = await connection.use();
    const atMs = performance.now();
    const info = await jsm.streams.info(layout.names.stream);
    const { last_seq: lastSeq } = info.state;
    if (nanosOf(info.created) !== created || lastSeq < seq) {
      throw new TransportError('the engine has lost what was copied from it: it is looked at again');
    }
    return { lastSeq, hasLeader: hasLeader(info), atMs };
  }
}

interface Reading {
  readonly from: Standing;
  readonly state: StreamState;
  readonly next: number;
  readonly baseAt: string;
  readonly signal: AbortSignal;
}

interface Checked {
  readonly messages: readonly {
    readonly rows: readonly CopiedRow[];
    readonly seq: number;
    readonly storedAt: string;
    /** When the base was stored of the history that it belongs to. */
    readonly baseAt: string;
  }[];
  /** What is wrong with the one after them. */
  readonly error: Error | null;
}

/** What is pruned must have been applied: its entry begins a batch. None is larger than one transaction should be. */
function* portionsOf(messages: Checked['messages']): Generator<Checked['messages']> {
  let start = 0;
  let count = 0;
  for (const [i, { rows }] of messages.entries()) {
    if (i > start && (rows[0]?.kind === 'pruned' || count + rows.length > BATCH_ROWS)) {
      yield messages.slice(start, i);
      start = i;
      count = 0;
    }
    count += rows.length;
  }
  if (start < messages.length) yield messages.slice(start);
}

const NOTHING = { rows: [], positions: [], firstSeq: null } as const;
