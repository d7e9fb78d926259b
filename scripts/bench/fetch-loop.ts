/** The bare loop of reads, in a process of its own as the mirror is. */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Service } from './upstream.ts';

export interface Loop {
  readonly service: Pick<Service, 'baseUrl' | 'clientId' | 'clientSecret'>;
  readonly concurrency: number;
}

export type Looped = { readonly tookMs: number; readonly products: number } | { readonly error: string };

export class FetchLoop {
  readonly #process: ChildProcess = fork(join(import.meta.dirname, 'programs/fetch-loop-process.ts'));

  /** Reads every product once. @returns products a second. */
  async perSecond(loop: Loop): Promise<number> {
    this.#process.send(loop);
    const [looped] = (await once(this.#process, 'message')) as [Looped];
    if ('error' in looped) throw new Error(`the loop of reads failed: ${looped.error}`);
    return (looped.products * 1_000) / looped.tookMs;
  }

  async end(): Promise<void> {
    const ended = once(this.#process, 'exit');
    this.#process.kill('SIGKILL');
    await ended;
  }
}
