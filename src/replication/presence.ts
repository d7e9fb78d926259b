/** Each process announces itself every 2 s. Announcements expire after 10 s. */
import { z } from 'zod';
import { inTime, orAborted } from '../platform/or-aborted.ts';
import { rest } from '../platform/sleep.ts';
import { TransportError, type Notes } from './transport.ts';

const receiverSchema = z.object({
  /** New after each start and each standstill: requests in flight then are lost. */
  life: z.string(),
  /** Deliveries that are answered and not yet acknowledged by the engine, and how long the oldest has waited. */
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
  isUpToDate: z.boolean(),
  isLeading: z.boolean(),
  /** It has entries that the engine has lost. */
  isLost: z.boolean(),
  /** The version of the rules by which it applies entries. */
  rules: z.number(),
  /** The last number of its change feed, as of a moment ago. */
  changeSeq: z.number(),
  /** The others need not wait for a replica that may not. */
  mayLead: z.boolean(),
  /** Of the lead: why nothing is read from the store. */
  blocked: blockedSchema.nullable(),
});
export type ReplicaNote = z.infer<typeof replicaSchema>;

/** All known members, by name. */
export interface Members {
  readonly receivers: ReadonlyMap<string, ReceiverNote>;
  readonly replicas: ReadonlyMap<string, ReplicaNote>;
}

export const NOBODY: Members = { receivers: new Map(), replicas: new Map() };

/** How often a process announces itself, and polls the others. */
export const TELL_EVERY_MS = 2_000;
/** Part of the time in which a process must end. */
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
      // Reported by the parts that need the engine.
      if (!(error instanceof TransportError)) throw error;
    });
    await orAborted(putting, signal);
    await rest(TELL_EVERY_MS, signal);
  }
  // If it cannot be deleted in time, it expires.
  await inTime(
    notes.delete(key).catch(() => undefined),
    TAKEN_BACK_WITHIN_MS,
  );
}

/** Announcements of other versions that have another form are left out. */
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
