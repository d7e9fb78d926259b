/** What a primary sends to a copy: the headers of its frames (`platform/frames.ts`), for who writes them and who reads them. */
import { z } from 'zod';

export const ENTRIES_TYPE = 'application/vnd.stock-mirror.entries';
export const SNAPSHOT_TYPE = 'application/vnd.stock-mirror.snapshot';

/** Its bytes are the payload. */
const entry = z.object({ seq: z.int().positive(), kind: z.string(), at_ms: z.int() });
export type EntryHeader = z.infer<typeof entry>;

/** Ends what is read at once, and comes every second. */
const standing = z.object({
  type: z.literal('standing'),
  first_seq: z.int(),
  last_seq: z.int(),
  live: z.boolean(),
});
/** Ends the stream. */
const refused = z.object({ type: z.literal('refused'), error: z.string(), description: z.string() });

export const entriesHeader = z.union([entry, standing, refused]);
export type EntriesHeader = z.infer<typeof entriesHeader>;

export const snapshotHeader = z.discriminatedUnion('type', [
  z.object({ type: z.literal('making') }),
  z.object({ type: z.literal('files'), mirror_bytes: z.int().positive(), log_bytes: z.int().positive() }),
  z.object({ type: z.literal('content') }),
  z.object({ type: z.literal('end') }),
  z.object({ type: z.literal('failed'), problem: z.string() }),
]);
export type SnapshotHeader = z.infer<typeof snapshotHeader>;
