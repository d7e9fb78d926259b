/** What processes tell each other of themselves, again and again: what is not told any more is forgotten. */
import { z } from 'zod';
import { inTime, orAborted } from '../platform/or-aborted.ts';
import { rest } from '../platform/sleep.ts';
import { TransportError, type Notes } from './transport.ts';

const receiverSchema = z.object({
  /** Another one after every start, and after every time that it stood still: what was under way then is lost. */
  life: z.string(),
  /** Deliveries that are answered and not yet in the common order, and how long the oldest has waited. */
  backlog: z.number(),
  backlogAgeMs: z.number(),
});
export type ReceiverNote = z.infer<typeof receiverSchema>;

const blockedSchema = z.object({
  kind: z.string(),
  message: z.string(),
  untilMs: z.number().nullable(),
});

const replicaSchema = z.object({
  epoch: z.string(),
  lastSeq: z.number(),
  /** It had everything a moment ago. */
  isLevel: z.boolean(),
  isLeading: z.boolean(),
  /** For a while it has had entries that the engine has lost, or that do not go on there. */
  isLost: z.boolean(),
  /** The version of the rules by which it applies entries. */
  rules: z.number(),
  /** The last number of its change feed, as of a moment ago. */
  changeSeq: z.number(),
  /** Others need not wait for one that only keeps a mirror. */
  mayLead: z.boolean(),
  /** Of the one that leads: why nothing is read from the store. */
  blocked: blockedSchema.nullable(),
});
export type ReplicaNote = z.infer<typeof replicaSchema>;

/** All that are known to be there, by name. */
export interface Members {
  readonly receivers: ReadonlyMap<string, ReceiverNote>;
  readonly replicas: ReadonlyMap<string, ReplicaNote>;
}

export const NOBODY: Members = { receivers: new Map(), replicas: new Map() };

/** Of what is told, and of what is heard. */
export const TELL_EVERY_MS = 2_000;
/** Of the time that a process has to end. */
const TAKEN_BACK_WITHIN_MS = 500;
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

/** @throws TransportError */
export async function membersIn(notes: Notes): Promise<Members> {
  const [receivers, replicas] = await Promise.all([notes.list(RECEIVERS), notes.list(REPLICAS)]);
  return {
    receivers: parsed(receivers, RECEIVERS, receiverSchema),
    replicas: parsed(replicas, REPLICAS, replicaSchema),
  };
}

async function tell(notes: Notes, key: string, note: () => unknown, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const putting = notes.put(key, note()).catch((error: unknown) => {
      // Whoever needs the engine says that it cannot be reached.
      if (!(error instanceof TransportError)) throw error;
    });
    await orAborted(putting, signal);
    await rest(TELL_EVERY_MS, signal);
  }
  // Where it cannot be taken back in time, it goes by itself.
  await inTime(
    notes.delete(key).catch(() => undefined),
    TAKEN_BACK_WITHIN_MS,
  );
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
