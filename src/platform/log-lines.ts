/**
 * Log lines on their way to a descriptor. Logging never waits: the reader behind a pipe may have stopped reading, and
 * a webhook's answer is due within the second. It never ends anything either: a full disk or a closed pipe loses the
 * lines that it refuses, and gets the next ones once there is room again.
 */
import { write } from 'node:fs';
import type { DestinationStream } from 'pino';

/** Lines that wait while they cannot be written; further ones are dropped. */
const MAX_WAITING_CHARACTERS = 1 << 20;
const RETRY_MS = 50;

export function linesTo(fd: number): DestinationStream {
  let waiting: string[] = [];
  let characters = 0;
  let isWriting = false;

  const next = (): void => {
    isWriting = waiting.length > 0;
    if (!isWriting) return;
    const bytes = Buffer.from(waiting.join(''));
    waiting = [];
    characters = 0;
    put(bytes);
  };
  const put = (bytes: Buffer): void =>
    write(fd, bytes, (error, written) => {
      if (error === null && written < bytes.length) put(bytes.subarray(written));
      else if (error?.code === 'EAGAIN') setTimeout(() => put(bytes), RETRY_MS);
      else next();
    });

  return {
    write(line: string): void {
      if (characters + line.length > MAX_WAITING_CHARACTERS) return;
      waiting.push(line);
      characters += line.length;
      if (!isWriting) next();
    },
  };
}
