/** Threads as messages, so that what runs on one can be given another schedule: a simulation's. */
import { parentPort, receiveMessageOnPort, Worker, workerData } from 'node:worker_threads';

/** A thread as its owner sees it. */
export interface Thread<In, Out> {
  /** @param handOver memory of the message that is handed over instead of copied: gone for whoever posts. */
  post(message: In, handOver?: readonly ArrayBuffer[]): void;
  onMessage(listener: (message: Out) => void): void;
  /** Told when it ends, asked to or not: after its last message, once. */
  onEnd(listener: (cause: Error) => void): void;
}

/** The owner as the code on the thread sees it. */
export interface Owner<In, Out> {
  post(message: Out): void;
  onMessage(listener: (message: In) => void): void;
  /** The next message that has already come. */
  take(): In | undefined;
  /** Ends the thread once nothing else keeps it. */
  close(): void;
}

/**
 * Files are TypeScript when run from the source and JavaScript when run from `dist/`.
 * @param youngMb how large the thread's young generation may become: where what is gone a moment later costs nothing.
 */
export function startThread<In, Out>(name: string, path: string, youngMb: number): Thread<In, Out> {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const worker = new Worker(new URL(`./${name}.${extension}`, import.meta.url), {
    workerData: { path },
    // V8, left alone, lets it grow to a hundred megabytes on each thread.
    resourceLimits: { maxYoungGenerationSizeMb: youngMb },
  });
  return {
    post: (message, handOver) => worker.postMessage(message, handOver),
    onMessage: (listener) => void worker.on('message', listener),
    onEnd: (listener) => {
      let failure: Error | null = null;
      worker.on('error', (error: Error) => {
        failure = error;
      });
      // It ends after its error, and its last messages may still be on their way.
      worker.on('exit', (code) => setImmediate(() => listener(failure ?? new Error(`exit code ${code}`))));
    },
  };
}

/** For the first line of a thread's own file. @throws Error on the main thread. */
export function ownerOfThread<In, Out>(): { readonly owner: Owner<In, Out>; readonly path: string } {
  const port = parentPort;
  if (port === null) throw new Error('this file runs as a worker only');
  return {
    owner: {
      post: (message) => port.postMessage(message),
      onMessage: (listener) => void port.on('message', listener),
      take: () => receiveMessageOnPort(port)?.message as In | undefined,
      close: () => port.close(),
    },
    path: (workerData as { path: string }).path,
  };
}
