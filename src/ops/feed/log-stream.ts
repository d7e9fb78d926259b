/** The event log for a copy on another machine: what comes after a place, and whatever is appended from then on. */
import type { EntriesHeader } from '../../event-log/wire.ts';
import { encodeFrame } from '../../platform/frames.ts';
import type { LogSlice } from '../../mirror/queries/log-slice.ts';
import type { StoreReader } from '../../mirror/reader/store-reader.ts';
import type { StoreWriter } from '../../mirror/writer/store-writer.ts';
import type { ChangeFeed } from './change-feed.ts';

interface LogStreamOptions {
  readonly reader: StoreReader;
  readonly writer: Pick<StoreWriter, 'lastSeq'>;
  /** Its news of what is applied: entries are on disk before. */
  readonly feed: ChangeFeed;
  readonly from: Pick<LogSlice, 'epoch' | 'after'> & { readonly rules: number };
  /** Whether this mirror is itself up to date. */
  readonly isLive: () => boolean;
  readonly signal: AbortSignal;
}

/** Who hears nothing for three times as long takes the connection to be broken. */
const SIGN_OF_LIFE_MS = 1_000;

/** Each chunk ends with a frame of type `standing`. The next is read when the one before is on its way. */
export async function* streamLog({
  reader,
  writer,
  feed,
  from,
  isLive,
  signal,
}: LogStreamOptions): AsyncGenerator<Uint8Array, void, undefined> {
  const unfollow = feed.follow();
  try {
    for (let at = from; !signal.aborted;) {
      const { wakes } = feed;
      // Only what is known to be on disk: a copy must not have what a power cut takes from here.
      const upTo = writer.lastSeq;
      const live = isLive();
      const slice = await reader.ask('logSlice', { ...at, upTo });
      if ('error' in slice) {
        yield encodeFrame({ type: 'refused', ...slice } satisfies EntriesHeader);
        return;
      }
      const { frames, after, epoch, firstSeq } = slice;
      yield Buffer.concat([
        frames,
        encodeFrame({ type: 'standing', first_seq: firstSeq, last_seq: upTo, live } satisfies EntriesHeader),
      ]);
      at = { ...at, epoch, after };
      if (frames.byteLength > 0 && after < upTo) continue;
      await feed.newsSince(wakes, SIGN_OF_LIFE_MS, signal);
    }
  } finally {
    unfollow();
  }
}
