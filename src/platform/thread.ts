/** Threads as messages, so that a simulation can run their work in a schedule of its own. */
import { parentPort, receiveMessageOnPort, Worker, workerData } from 'node:worker_threads';
import { programFile } from './own-files.ts';

/** A thread as its owner sees it. */
export interface Thread<In, Out> {
  /** @param handOver memory of the message that is transferred instead of copied: the sender can no longer use it. */
  post(message: In, handOver?: readonly ArrayBuffer[]): void;
  /** To be called once: the listener also gets what came before. */
  onMessage(listener: (message: Out) => void): void;
  /** Called once when it ends, asked to or not, after its last message. */
  onEnd(listener: (cause: Error) => void): void;
  /** Ends it at once. Not while it has a file open: what it holds is not closed. */
  stop(): Promise<unknown>;
}

/** The owner as the code on the thread sees it. */
export interface Owner<In, Out> {
  post(message: Out): void;
  onMessage(listener: (message: In) => void): void;
  /** The next message that has already arrived. */
  take(): In | undefined;
  /** Ends the thread once nothing else keeps it alive. */
  close(): void;
}

/**
 * @param name of its file below src/, without the ending.
 * @param youngMb how large the thread's young generation may become, for a thread whose values are garbage a moment
 * later.
 */
export function startThread<In, Out>(name: string, path: string, youngMb: number): Thread<In, Out> {
  const worker = new Worker(programFile(name), {
    workerData: { path },
    // Left alone, V8 lets it grow to a hundred megabytes on each thread.
    resourceLimits: { maxYoungGenerationSizeMb: youngMb },
  });
  // It may be started before its owner has loaded what listens to it.
  let listener: ((message: Out) => void) | null = null;
  const early: Out[] = [];
  worker.on('message', (message: Out) => (listener === null ? early.push(message) : listener(message)));
  let failure: Error | null = null;
  worker.on('error', (error: Error) => {
    failure = error;
  });
  const ended = Promise.withResolvers<Error>();
  // It ends after its error, and its last messages may still be on their way.
  worker.on('exit', (code) => setImmediate(() => ended.resolve(failure ?? new Error(`exit code ${code}`))));
  return {
    post: (message, handOver) => worker.postMessage(message, handOver),
    onMessage: (given) => {
      listener = given;
      for (const message of early.splice(0)) given(message);
    },
    onEnd: (given) => void ended.promise.then(given),
    stop: () => worker.terminate(),
  };
}

/** Stops the thread that calls it, with all that it would do meanwhile. Not for the main thread. */
export function pauseThread(ms: number): void {
  if (ms > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
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
