/** One primary as the source of a copy, over its private listener (docs/follower.md#following-a-primary). */
import { RULES_VERSION } from '../../core/rules-version.ts';
import { ENTRIES_TYPE, SNAPSHOT_TYPE } from '../../event-log/wire.ts';
import { TransportError, type Batch, type Source } from '../transport.ts';
import { EntryParser } from './entries.ts';
import { Primary, type PrimaryAddress } from './primary.ts';
import { writeSnapshot } from './snapshot.ts';

/** Sends nothing until it is followed. */
export function connectPrimary(address: PrimaryAddress): Source {
  const primary = new Primary(address);
  const { url } = address;
  return {
    name: url,
    async *follow({ epoch, lastSeq }, signal): AsyncGenerator<Batch, void, undefined> {
      const place = new URLSearchParams({ epoch, after: String(lastSeq), rules: String(RULES_VERSION) });
      const parser = new EntryParser(url, lastSeq);
      for await (const frames of primary.frames(
        `/api/log/entries?${place.toString()}`,
        ENTRIES_TYPE,
        signal,
      )) {
        for (const frame of frames) yield* parser.take(frame);
      }
      if (!signal.aborted)
        throw new TransportError(`${url} has ended the answer: it stops, or something between does`);
    },
    async getSnapshot(into, signal): Promise<boolean> {
      await writeSnapshot(url, primary.frames('/api/log/snapshot', SNAPSHOT_TYPE, signal), into);
      return true;
    },
    close: () => primary.close(),
  };
}
