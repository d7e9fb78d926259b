/** One word for a POSIX shell, whatever is in the text. */
export function shellWord(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
