/** The part of a stream engine that mirrors need: a log kept for days, and the last message of each other subject. */
export type LogSubject = 'deliveries' | 'notices';
export type LastSubject = `heartbeat.${string}` | `start.${string}` | `credentials.${string}`;

export interface Engine {
  /** Creates the streams that are missing, and leaves the others as they are. */
  prepare(): Promise<void>;
  /** Resolves once stored, or dropped as a repeated `id` within two minutes. The arrival is for people who look. */
  publish(
    subject: LogSubject | LastSubject,
    body: Uint8Array,
    options?: { readonly id?: string; readonly arrivedAtMs?: number },
  ): Promise<void>;
  /** The last message of each subject that matches; `*` stands for any last part. */
  last(subject: LastSubject): Promise<readonly LastMessage[]>;
  hear(listener: (hostId: string, body: Uint8Array) => void): void;
  log(consumer: string): Promise<Log>;
  /** Creates the consumer, or moves it: it gets the messages from `fromSeq` on. */
  moveConsumer(consumer: string, fromSeq: number): Promise<void>;
  /** Delivers messages, those that are not acknowledged again after a while. @returns a function that ends it. */
  consume(consumer: string, onMessage: (message: LogMessage) => void): Promise<() => Promise<unknown>>;
  close(): Promise<void>;
}

export interface LastMessage {
  readonly subject: string;
  readonly body: Uint8Array;
  /** The engine's time of storing it. */
  readonly atMs: number;
}

export interface Log {
  /** Differs after the stream was deleted and created again. */
  readonly id: string;
  /** The oldest message; `lastSeq + 1` if there is none. */
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** null if there is no such consumer. */
  readonly consumer: {
    /** This message and all before it are acknowledged. */
    readonly ackedSeq: number;
  } | null;
}

export interface LogMessage {
  readonly subject: LogSubject;
  readonly body: Uint8Array;
  /** Messages after this one that this consumer has not been sent yet. */
  readonly left: number;
  readonly ack: () => void;
}
