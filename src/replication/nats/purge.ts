import type { Live } from './connection.ts';

/** Removes what comes before a message. @param filter a subject; null: all of them. */
export async function purgeBefore(
  { jsm }: Live,
  stream: string,
  { seq, filter }: { readonly seq: number; readonly filter: string | null },
): Promise<void> {
  // The engine takes 0 and 1 for no bound at all, and would remove everything.
  if (seq <= 1) return;
  await jsm.streams.purge(stream, filter === null ? { seq } : { seq, filter });
}
