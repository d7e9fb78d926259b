/** Whole copies of mirror and event log, compressed, in the object store of the engine. */
import { createHash, randomBytes } from 'node:crypto';
import { createReadStream, createWriteStream, rmSync } from 'node:fs';
import { addAbortSignal, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import type { ObjectInfo, ObjectStore } from '@nats-io/obj';
import { TransportError, type SnapshotFiles, type Standing } from '../transport.ts';
import { attempt } from './attempt.ts';
import type { Live } from './connection.ts';
import { readCursor, readState, verdictOn, type Base, type StreamState } from './history.ts';
import { streamOf } from './layout.ts';
import type { Parts } from './parts.ts';
import { purgeBefore } from './purge.ts';
import { noteWith, readNote, writeNote, type SnapshotNote, type StoredSnapshot } from './snapshot-note.ts';
import { Tail } from './tail.ts';

const FILES = ['mirror', 'log'] as const;
const CHUNK_BYTES = 256 << 10;
const SILENT_MS = 10_000;
const BYTES_AT_ONCE = 4 << 20;

interface PutSnapshotArgs {
  readonly files: SnapshotFiles;
  readonly standing: Standing;
  readonly signal: AbortSignal;
}

export async function putSnapshot(parts: Parts, { files, standing, signal }: PutSnapshotArgs): Promise<void> {
  await attempt(parts, 'the snapshot cannot be put into the engine', async (live) => {
    const state = await readState(live, parts.layout.names, readCursor(standing.cursor));
    const { base, created } = state;
    const seq = placeOf(standing, state, parts.rules);
    if (base === null || seq === null) {
      throw new TransportError(
        'the snapshot does not belong to the history that the engine holds: a newer one will',
      );
    }
    const store = await storeOf(parts, live);
    const id = randomBytes(8).toString('hex');
    for (const file of FILES)
      await put(parts, live, { store, name: objectName(id, file), path: files[file], signal });
    const { epoch, lastSeq } = standing;
    const known = await readNote(parts);
    const newest = { id, epoch, lastSeq, seq };
    const note = noteWith(known, newest, { created, baseAt: base.storedAt, nowMs: parts.now() });
    await writeNote(parts, note);
    await removeOthers(parts, live, note);
    await purgeBelow(parts, live, note.floor);
  });
}

/** @returns false when there is none that the history in the engine goes on from. */
export async function getSnapshot(parts: Parts, into: SnapshotFiles, signal: AbortSignal): Promise<boolean> {
  return attempt(parts, 'the snapshot cannot be fetched from the engine', async (live) => {
    const note = await readNote(parts);
    const { base, created } = await readState(live, parts.layout.names, null);
    if (note === null || base === null || !leadsOn(note, base, created)) return false;
    try {
      await fetchBoth(parts, live, { id: note.newest.id, into, signal });
    } catch (error) {
      if (note.previous === null || signal.aborted || !(error instanceof Damaged)) throw error;
      parts.log.warn({ err: error }, 'the newest snapshot is damaged; the one before it is taken');
      await fetchBoth(parts, live, { id: note.previous.id, into, signal });
    }
    return true;
  });
}

/** The last message of the stream that the log has copied; null: it is of another history. */
function placeOf(standing: Standing, state: StreamState, rules: number): number | null {
  const verdict = verdictOn(standing, state, rules);
  if (verdict.type === 'after') return verdict.seq;
  return verdict.type === 'base' ? verdict.base.seq - 1 : null;
}

function leadsOn({ created, baseAt, newest }: SnapshotNote, base: Base, streamCreated: string): boolean {
  if (created === streamCreated && baseAt === base.storedAt) return true;
  return newest.epoch === base.after.epoch && newest.lastSeq === base.after.lastSeq;
}

function objectName(id: StoredSnapshot['id'], file: (typeof FILES)[number]): string {
  return `${id}.${file}.gz`;
}

function storeOf({ client, layout }: Parts, { js }: Live): Promise<ObjectStore> {
  return new client.obj.Objm(js).open(layout.names.snapshots, false);
}

interface PutArgs {
  readonly store: ObjectStore;
  readonly name: string;
  readonly path: string;
  readonly signal: AbortSignal;
}

async function put(parts: Parts, live: Live, { store, name, path, signal }: PutArgs): Promise<void> {
  const packing = addAbortSignal(signal, createGzip({ level: 3 }));
  // What fails there ends what is read from it as well.
  pipeline(createReadStream(path), packing).catch(() => undefined);
  const maxBytes = live.nc.info?.max_payload ?? CHUNK_BYTES;
  const packed = Readable.toWeb(packing) as ReadableStream<Uint8Array>;
  const options = { max_chunk_size: Math.min(CHUNK_BYTES, maxBytes) };
  const info = await store.put({ name, options }, packed).finally(() => packing.destroy());
  const subject = chunksOf(parts, info);
  const kept = await subjectsOf(parts, live, subject);
  if (kept[subject] !== info.chunks)
    throw new TransportError(`parts of ${name} were removed while it was written`);
}

interface FetchArgs {
  readonly id: string;
  readonly into: SnapshotFiles;
  readonly signal: AbortSignal;
}

async function fetchBoth(parts: Parts, live: Live, { id, into, signal }: FetchArgs): Promise<void> {
  const store = await storeOf(parts, live);
  for (const file of FILES) {
    const name = objectName(id, file);
    const info = await store.info(name);
    if (info === null || info.deleted) throw new Damaged(`${name} is gone`);
    rmSync(into[file], { force: true });
    await pipeline(chunks(parts, live, info, signal), createGunzip(), createWriteStream(into[file]), {
      signal,
    }).catch((error: unknown) => {
      rmSync(into[file], { force: true });
      throw isDamage(error) ? new Damaged(`${name} cannot be unpacked`, { cause: error }) : error;
    });
  }
}

/** Instead of `ObjectStore.get`, which reads the whole object into memory when the disk is slower. */
async function* chunks(
  parts: Parts,
  live: Live,
  info: ObjectInfo,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const { connection, client, layout } = parts;
  const stream = streamOf(layout.names, 'snapshots');
  const subject = chunksOf(parts, info);
  const digest = createHash('sha256');
  const tail = await Tail.open({ connection, live, client, stream, start: 1, subject });
  let count = 0;
  let arrivedMs = performance.now();
  try {
    while (count < info.chunks && !signal.aborted) {
      await tail.more(1_000, signal);
      const arrived = tail.take(BYTES_AT_ONCE);
      if (arrived.length > 0) arrivedMs = performance.now();
      // Of a snapshot that a newer one has replaced meanwhile, nothing comes any more, and nobody says so.
      else if (performance.now() - arrivedMs > SILENT_MS)
        throw new TransportError(`${info.name} was removed while it was fetched`);
      for (const { data } of arrived) {
        digest.update(data);
        yield data;
      }
      count += arrived.length;
      if (count < info.chunks && arrived.at(-1)?.pending === 0)
        throw new Damaged(`${info.name} lacks its end`);
    }
  } finally {
    tail.close();
  }
  signal.throwIfAborted();
  if (`SHA-256=${digest.digest('base64url')}` !== info.digest.replace(/=+$/, '')) {
    throw new Damaged(`${info.name} is not what was written`);
  }
}

/** It is no use to try the same one again. */
class Damaged extends TransportError {}

function isDamage(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('Z_');
}

function chunksOf({ layout }: Parts, { nuid }: Pick<ObjectInfo, 'nuid'>): string {
  return `$O.${layout.names.snapshots}.C.${nuid}`;
}

/** With how many messages each has. */
async function subjectsOf({ layout }: Parts, { jsm }: Live, filter: string): Promise<Record<string, number>> {
  const { state } = await jsm.streams.info(streamOf(layout.names, 'snapshots'), { subjects_filter: filter });
  return state.subjects ?? {};
}

/** Older ones, and what leads left behind that ended before they were done. */
async function removeOthers(parts: Parts, live: Live, { newest, previous }: SnapshotNote): Promise<void> {
  const { snapshots } = parts.layout.names;
  const store = await storeOf(parts, live);
  const kept = new Set<string>();
  for (const snapshot of [newest, previous]) {
    for (const file of snapshot === null ? [] : FILES) {
      const name = objectName(snapshot?.id ?? '', file);
      const info = await store.info(name);
      kept.add(`$O.${snapshots}.M.${Buffer.from(name).toString('base64url')}`);
      if (info !== null) kept.add(chunksOf(parts, info));
    }
  }
  for (const subject of Object.keys(await subjectsOf(parts, live, `$O.${snapshots}.>`))) {
    if (kept.has(subject.replace(/=+$/, ''))) continue;
    await live.jsm.streams.purge(streamOf(parts.layout.names, 'snapshots'), { filter: subject });
  }
}

/** All but the base, which says how the history began. */
async function purgeBelow({ layout }: Parts, live: Live, floor: number): Promise<void> {
  const { stream, delivery, entry } = layout.names;
  for (const filter of [delivery, entry]) await purgeBefore(live, stream, { filter, seq: floor });
}
