/** Which snapshots there are. One key, written once a snapshot is whole: it appears at once or not at all. */
import { z } from 'zod';
import { STATE_KEYS } from '../state-keys.ts';
import { BucketNotes } from './notes.ts';
import type { Parts } from './parts.ts';

const storedSchema = z.object({
  /** Its objects are named after it. */
  id: z.string(),
  epoch: z.string(),
  lastSeq: z.number(),
  /** The last message of the stream that its log has copied. */
  seq: z.number(),
});
export type StoredSnapshot = z.infer<typeof storedSchema>;

const noteSchema = z.object({
  /** Of the history that they belong to: when the stream was made, and its base stored. */
  created: z.string(),
  baseAt: z.string(),
  newest: storedSchema,
  previous: storedSchema.nullable(),
  /** Messages before this one may be gone from the stream. */
  floor: z.number(),
  /** Where snapshots stood when, so that what is younger than an hour is kept. */
  marks: z.array(z.object({ seq: z.number(), atMs: z.number() })),
});
export type SnapshotNote = z.infer<typeof noteSchema>;

/** A replica that was away for less goes on from its own log. */
const KEPT_MS = 3_600_000;

/** The note as it is once a snapshot is whole. */
export function noteWith(
  known: SnapshotNote | null,
  newest: StoredSnapshot,
  { created, baseAt, nowMs }: Pick<SnapshotNote, 'created' | 'baseAt'> & { readonly nowMs: number },
): SnapshotNote {
  const isSame = known !== null && known.created === created && known.baseAt === baseAt;
  const previous = isSame ? known.newest : null;
  const marks = [...(isSame ? known.marks : []), { seq: newest.seq, atMs: nowMs }];
  const old = marks.findLast(({ seq, atMs }) => atMs <= nowMs - KEPT_MS && seq <= (previous?.seq ?? 0));
  const floor = Math.max(isSame ? known.floor : 0, old?.seq ?? 0);
  return { created, baseAt, newest, previous, floor, marks: marks.filter(({ seq }) => seq >= floor) };
}

/** @returns null when there is none, or one that only another version understands. @throws TransportError */
export async function readNote(parts: Parts): Promise<SnapshotNote | null> {
  return noteSchema.safeParse(await notesOf(parts).get(STATE_KEYS.snapshots)).data ?? null;
}

/** @throws TransportError */
export async function writeNote(parts: Parts, note: SnapshotNote): Promise<void> {
  await notesOf(parts).put(STATE_KEYS.snapshots, note);
}

/** Messages before this one may be gone; null: nothing was removed yet. @throws TransportError */
export async function floorOf(parts: Parts): Promise<number | null> {
  return (await readNote(parts))?.floor ?? null;
}

function notesOf(parts: Parts): BucketNotes {
  return new BucketNotes(parts, 'state');
}
