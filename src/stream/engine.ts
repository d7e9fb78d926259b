/** The part of a stream engine that hosts need: a log kept for days, and the last message of each other subject. */
export type LogSubject = 'deliveries' | 'tests' | 'missed';
type LastSubject = `heartbeat.${string}` | `start.${string}`;

/** The servers never take this body, however often it is sent: it is too large for them. */
export class TooLargeError extends Error {
  override readonly name = 'TooLargeError';
}

export interface PublishOptions {
  /** A message is dropped if another one with its id was stored in the last two minutes. */
  readonly id?: string;
  /** The host whose inbox has the row. */
  readonly hostId?: string;
  /** Epoch ms, for people who look into the stream. */
  readonly arrivedAtMs?: number;
}

export interface Engine {
  /** Creates the streams that are missing, and leaves the others as they are. */
  prepare(): Promise<void>;
  /**
   * Resolves once the message, or an earlier one with the same id, is stored for good.
   * @returns its number in its stream. @throws TooLargeError
   */
  publish(subject: LogSubject | LastSubject, body: Uint8Array, options?: PublishOptions): Promise<number>;
  /**
   * The last message of each subject that matches; `*` matches any last part. The servers keep it as long as the messages
   * of the log.
   */
  last(subject: LastSubject): Promise<readonly LastMessage[]>;
  /** Calls the listener for each heartbeat and each start; some may not arrive. */
  hear(listener: (kind: 'heartbeat' | 'start', hostId: string, body: Uint8Array) => void): void;
  log(): Promise<Log>;
  /**
   * The messages of the log from `fromSeq` on, in order. It ends when the signal aborts, and when the servers
   * that deliver them fall silent: read again then.
   */
  read(fromSeq: number, signal: AbortSignal): AsyncIterable<LogMessage>;
  close(): Promise<void>;
}

export interface LastMessage {
  readonly subject: string;
  readonly body: Uint8Array;
}

export interface Log {
  /** Differs after the stream was deleted and created again. */
  readonly id: string;
  /** The oldest message; `lastSeq + 1` if there is none. */
  readonly firstSeq: number;
  readonly lastSeq: number;
}

export interface LogMessage {
  /** Messages are numbered without gaps: a jump means that some were dropped. */
  readonly seq: number;
  readonly subject: LogSubject;
  readonly body: Uint8Array;
  /** See `PublishOptions`; null if the message does not say. */
  readonly hostId: string | null;
}
