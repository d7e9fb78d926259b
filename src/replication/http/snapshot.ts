/** Writes the snapshot that a primary sends into two files. */
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { PassThrough, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { snapshotHeader, type SnapshotHeader } from '../../event-log/wire.ts';
import type { Frame } from '../../platform/frames.ts';
import { asError } from '../../platform/thrown.ts';
import { TransportError, type SnapshotFiles } from '../transport.ts';

type Sizes = Extract<SnapshotHeader, { type: 'files' }>;

/** @throws TransportError when it is not whole, or the primary could not make it; Error when it cannot be written. */
export async function writeSnapshot(
  url: string,
  frames: AsyncIterable<readonly Frame[]>,
  into: SnapshotFiles,
): Promise<void> {
  let unpacking: Unpacking | null = null;
  let hasEnded = false;
  try {
    for await (const { header, payload } of each(frames)) {
      const { data: frame } = snapshotHeader.safeParse(header);
      if (frame === undefined || hasEnded) throw notWhole(url, 'it has another form than a primary sends');
      if (frame.type === 'failed')
        throw new TransportError(`${url} could not make a snapshot: ${frame.problem}`);
      if (frame.type === 'files') {
        if (unpacking !== null) throw notWhole(url, 'it begins twice');
        unpacking = unpack(url, into, frame);
      } else if (frame.type === 'content') {
        if (unpacking === null) throw notWhole(url, 'it does not say what comes');
        await unpacking.write(payload);
      } else if (frame.type === 'end') hasEnded = true;
    }
    if (!hasEnded || unpacking === null) throw notWhole(url, 'it ended early');
    await unpacking.end();
  } catch (error) {
    await unpacking?.abandon();
    throw error;
  }
}

async function* each(frames: AsyncIterable<readonly Frame[]>): AsyncGenerator<Frame> {
  for await (const some of frames) yield* some;
}

interface Unpacking {
  /** Resolves when there is room for more. @throws TransportError, Error */
  write(chunk: Uint8Array): Promise<void>;
  /** @throws TransportError when the two files are not what was announced; Error */
  end(): Promise<void>;
  abandon(): Promise<void>;
}

function unpack(url: string, into: SnapshotFiles, sizes: Sizes): Unpacking {
  const source = new PassThrough();
  const gunzip = createGunzip();
  const files = new TwoFiles(url, into, sizes);
  const writing = pipeline(source, gunzip, files).catch((error: unknown) => {
    const { code } = error as { readonly code?: string };
    throw code?.startsWith('Z_') === true ? notWhole(url, code) : error;
  });
  writing.catch(() => undefined);
  return {
    async write(chunk): Promise<void> {
      if (source.write(chunk)) return;
      const drained = new Promise<void>((resolve) => source.once('drain', resolve));
      await Promise.race([drained, writing]);
    },
    async end(): Promise<void> {
      source.end();
      await writing;
    },
    async abandon(): Promise<void> {
      source.destroy();
      await writing.catch(() => undefined);
      // Its file may only just be made: what removes it must come after.
      if (!files.closed) await once(files, 'close').catch(() => undefined);
    },
  };
}

/** The first bytes into one file, the others into the other: exactly as many as were announced. */
class TwoFiles extends Writable {
  readonly #url: string;
  readonly #parts: { readonly path: string; readonly mode: number; left: number }[];
  #file: Awaited<ReturnType<typeof open>> | null = null;
  #putting: Promise<void> = Promise.resolve();

  constructor(url: string, { mirror, log }: SnapshotFiles, sizes: Sizes) {
    super({ highWaterMark: 1 << 20 });
    this.#url = url;
    this.#parts = [
      { path: mirror, mode: 0o644, left: sizes.mirror_bytes },
      // As everywhere: it holds every webhook.
      { path: log, mode: 0o600, left: sizes.log_bytes },
    ];
  }

  override _write(chunk: Uint8Array, _encoding: string, done: (error?: Error) => void): void {
    this.#putting = this.#put(chunk);
    this.#putting.then(() => done(), done);
  }

  override _final(done: (error?: Error) => void): void {
    done(this.#parts.length === 0 ? undefined : notWhole(this.#url, 'it is shorter than announced'));
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    const closed = this.#putting.catch(() => undefined).then(() => this.#file?.close());
    closed.then(
      () => done(error),
      (failed: unknown) => done(error ?? asError(failed)),
    );
  }

  async #put(chunk: Uint8Array): Promise<void> {
    let rest = chunk;
    while (rest.byteLength > 0) {
      const [part] = this.#parts;
      if (part === undefined) throw notWhole(this.#url, 'it is longer than announced');
      this.#file ??= await open(part.path, 'wx', part.mode);
      const piece = rest.subarray(0, part.left);
      await this.#file.writeFile(piece);
      part.left -= piece.byteLength;
      rest = rest.subarray(piece.byteLength);
      if (part.left > 0) continue;
      this.#parts.shift();
      await this.#file.close();
      this.#file = null;
    }
  }
}

function notWhole(url: string, why: string): TransportError {
  return new TransportError(`the snapshot from ${url} is not whole (${why}): it is fetched again`);
}
