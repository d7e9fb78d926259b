/** Both files for another machine, compressed, the one after the other, from copies beside them. */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { createGzip } from 'node:zlib';
import type { SnapshotHeader } from '../../event-log/wire.ts';
import { encodeFrame } from '../../platform/frames.ts';
import { messageOf } from '../../platform/thrown.ts';
import type { OpsDeps } from '../shared/operator.ts';

interface SnapshotStreamOptions extends Pick<OpsDeps, 'makeSnapshot' | 'log'> {
  readonly signal: AbortSignal;
}

const SIGN_OF_LIFE_MS = 1_000;
/** As much is compressed at once: each piece is waited for until it is taken. */
const READ_BYTES = 4 << 20;
/** The fastest: what is saved beyond it costs more time than sending it. */
const LEVEL = 1;

export async function* streamSnapshot({
  makeSnapshot,
  log,
  signal,
}: SnapshotStreamOptions): AsyncGenerator<Uint8Array, void, undefined> {
  const making = makeSnapshot(signal).then(
    (made) => ({ made, problem: null }),
    (error: unknown) => ({ made: null, problem: messageOf(error) }),
  );
  try {
    // Copying and reading back a large mirror takes minutes.
    while ((await Promise.race([making, sleep(SIGN_OF_LIFE_MS, null, { ref: false })])) === null) {
      yield frame({ type: 'making' });
    }
    const { made, problem } = await making;
    if (problem !== null) {
      log.warn({ problem }, 'no snapshot could be made for another machine');
      yield frame({ type: 'failed', problem });
      return;
    }
    if (made === null) return;
    const [mirror, eventLog] = await Promise.all([stat(made.mirror), stat(made.log)]);
    yield frame({ type: 'files', mirror_bytes: mirror.size, log_bytes: eventLog.size });
    const compressed = createGzip({ level: LEVEL, chunkSize: 1 << 20 });
    // Its error comes out of what is read below.
    pipeline(Readable.from(contentOf(made.mirror, made.log)), compressed, { signal }).catch(() => undefined);
    for await (const chunk of compressed) yield frame({ type: 'content' }, chunk as Uint8Array);
    yield frame({ type: 'end' });
  } finally {
    (await making).made?.remove();
  }
}

function frame(header: SnapshotHeader, payload?: Uint8Array): Uint8Array<ArrayBuffer> {
  return encodeFrame(header, payload);
}

async function* contentOf(...paths: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const path of paths) {
    for await (const chunk of createReadStream(path, { highWaterMark: READ_BYTES }))
      yield chunk as Uint8Array;
  }
}
