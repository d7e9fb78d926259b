/** Bodies kept because they once taught something. Small as files, large where they must be. */

export interface CorpusEntry {
  /** What it is, in a few words. */
  readonly name: string;
  /** Parts of the body, in order: text, text repeated, or bytes. */
  readonly parts: readonly (
    string | { readonly repeat: string; readonly times: number } | { readonly base64: string }
  )[];
}

export function corpusBody({ parts }: CorpusEntry): Uint8Array {
  return Buffer.concat(
    parts.map((part) => {
      if (typeof part === 'string') return Buffer.from(part);
      return 'base64' in part
        ? Buffer.from(part.base64, 'base64')
        : Buffer.from(part.repeat.repeat(part.times));
    }),
  );
}
