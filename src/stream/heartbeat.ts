/** The message by which a receiver shows once a second that it listens, and what it has published. */
import { z } from 'zod';

const heartbeatSchema = z.object({
  /** Age of the oldest row that is not in the stream; 0 if there is none. */
  backlog_ms: z.number(),
  /** No message that this host has published has a higher number; 0 if none is known. */
  stream_seq: z.number(),
  /**
   * The host has left: everything that it received is in the stream. Another receiver says so of a host that has vanished,
   * once the stream has the `missed` row because of which mirrors read everything.
   */
  is_gone: z.boolean(),
  /**
   * The latest starts heard of other hosts. The sender was listening when it heard of them, and everything that no receiver
   * may have received before is in the stream.
   */
  starts: z.record(z.string(), z.string()),
});

export type HeartbeatMessage = z.infer<typeof heartbeatSchema>;

export const readHeartbeat = (body: Uint8Array): HeartbeatMessage =>
  heartbeatSchema.parse(JSON.parse(Buffer.from(body).toString()));

export const heartbeatBody = (heartbeat: HeartbeatMessage): Uint8Array =>
  Buffer.from(JSON.stringify(heartbeat));

/** @returns that of a host that has left. @param streamSeq everything that it received is in the stream by then. */
export const goneBody = (streamSeq: number): Uint8Array =>
  heartbeatBody({ backlog_ms: 0, stream_seq: streamSeq, is_gone: true, starts: {} });
