/** Questions at a terminal. */
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';

/** @returns null at the end of the input, or by Ctrl-C. @param isSecret what is typed is not shown. */
export async function ask(
  question: string,
  { isSecret }: { readonly isSecret: boolean },
): Promise<string | null> {
  let isMuted = false;
  const output = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (!isMuted) process.stdout.write(chunk);
      done();
    },
  });
  const lines = createInterface({ input: process.stdin, output, terminal: true });
  try {
    const ended = new Promise<null>((resolve) => {
      lines.once('close', () => resolve(null));
      lines.once('SIGINT', () => resolve(null));
    });
    const answer = lines.question(question);
    isMuted = isSecret;
    return await Promise.race([answer, ended]);
  } finally {
    lines.close();
    if (isSecret) process.stdout.write('\n');
  }
}
