/** What processes tell each other of themselves, again and again: what is not told any more is forgotten. */
import { z } from 'zod';
import { rest } from '../platform/sleep.ts';
import { TransportError, type Notes } from './transport.ts';

const receiverSchema = z.object({
  /** Another one after every start, and after every time that it stood still: what was under way then is lost. */
  life: z.string(),
  /** How long this life has lasted. */
  uptimeMs: z.number(),
  /** How long it had not listened before; null: never before. */
  silentMs: z.number().nullable(),
});
export type ReceiverNote = z.infer<typeof receiverSchema>;

const replicaSchema = z.object({
  epoch: z.string(),
  lastSeq: z.number(),
  /** It had everything a moment ago. */
  isLevel: z.boolean(),
});
export type ReplicaNote = z.infer<typeof replicaSchema>;

const EVERY_MS = 2_000;
const RECEIVERS = 'receiver.';
const REPLICAS = 'replica.';

/** Until aborted. */
export async function tellOfReceiver(
  notes: Notes,
  name: string,
  note: () => ReceiverNote,
  signal: AbortSignal,
): Promise<void> {
  await tell(notes, `${RECEIVERS}${name}`, note, signal);
}

/** Until aborted. */
export async function tellOfReplica(
  notes: Notes,
  name: string,
  note: () => ReplicaNote,
  signal: AbortSignal,
): Promise<void> {
  await tell(notes, `${REPLICAS}${name}`, note, signal);
}

/** By name. @throws TransportError */
export async function receiversIn(notes: Notes): Promise<Map<string, ReceiverNote>> {
  return parsed(await notes.list(RECEIVERS), RECEIVERS, receiverSchema);
}

/** By name. @throws TransportError */
export async function replicasIn(notes: Notes): Promise<Map<string, ReplicaNote>> {
  return parsed(await notes.list(REPLICAS), REPLICAS, replicaSchema);
}

async function tell(notes: Notes, key: string, note: () => unknown, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await notes.put(key, note());
    } catch (error) {
      // Whoever needs the engine says that it cannot be reached.
      if (!(error instanceof TransportError)) throw error;
    }
    await rest(EVERY_MS, signal);
  }
  await notes.delete(key).catch(() => undefined);
}

/** What an earlier or a later version tells may have another form, and is left out. */
function parsed<T>(
  found: ReadonlyMap<string, unknown>,
  prefix: string,
  schema: z.ZodType<T>,
): Map<string, T> {
  const notes = new Map<string, T>();
  for (const [key, value] of found) {
    const note = schema.safeParse(value);
    if (note.success) notes.set(key.slice(prefix.length), note.data);
  }
  return notes;
}
