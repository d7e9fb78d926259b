/** Threads as messages, so that a simulation can run their work on a schedule. */
import { readlinkSync } from 'node:fs';
import { constants, getPriority, setPriority } from 'node:os';
import { basename } from 'node:path';
import { parentPort, receiveMessageOnPort, Worker, workerData } from 'node:worker_threads';
import { programFile } from './own-files.ts';

export interface Thread<In, Out> {
  post(message: In): void;
  onMessage(listener: (message: Out) => void): void;
  /** Called once when the thread ends, asked to or not, after its last message. */
  onEnd(listener: (cause: Error) => void): void;
  stop(): Promise<unknown>;
}

export interface Owner<In, Out> {
  post(message: Out): void;
  onMessage(listener: (message: In) => void): void;
  take(): In | undefined;
  close(): void;
}

/** Steps of `nice` by which a thread that may lag runs below the others. */
const LAGGING_BY = 10;
const THIS_THREAD = '/proc/thread-self';

/**
 * The thread that calls it may lag behind the one that answers webhooks: it leaves the processor to that one. Only Linux
 * has priorities of threads, and shows them in /proc.
 */
export function lagBehind(): void {
  if (process.platform !== 'linux') return;
  try {
    const threadId = Number(basename(readlinkSync(THIS_THREAD)));
    setPriority(threadId, Math.min(constants.priority.PRIORITY_LOW, getPriority(threadId) + LAGGING_BY));
  } catch {
    // No /proc, or a sandbox that refuses the call: answers are only slower under load.
  }
}

/** By default, V8 lets each thread's young generation grow to 50 MB. */
const YOUNG_GENERATION_MB = 4;

/**
 * @param program `folder/name-thread`. The operating system shows the thread as `name` (`top -H`).
 * @param youngGenerationMb the limit of V8's heap for new objects.
 */
export function startThread<In, Out>(
  program: string,
  options: object,
  youngGenerationMb = YOUNG_GENERATION_MB,
): Thread<In, Out> {
  const worker = new Worker(programFile(program), {
    name: basename(program, '-thread'),
    workerData: options,
    stdout: true,
    stderr: true,
    resourceLimits: { maxYoungGenerationSizeMb: youngGenerationMb },
  });
  // Otherwise Node copies them to those of the process, where a full disk ends it and a stopped reader blocks it.
  for (const output of [worker.stdout, worker.stderr]) {
    output.on('data', (text) => {
      process.emitWarning(`${program}: ${String(text).trim().replaceAll('\n', ' ')}`);
    });
  }
  let failure: Error | null = null;
  worker.on('error', (error: Error) => (failure = error));
  const ended = Promise.withResolvers<Error>();
  // The exit follows the error, and the last messages may still be on their way.
  worker.on('exit', (code) => setImmediate(() => ended.resolve(failure ?? new Error(`exit code ${code}`))));
  return {
    post: (message) => worker.postMessage(message),
    onMessage: (listener) => void worker.on('message', listener),
    onEnd: (listener) => void ended.promise.then(listener),
    stop: () => worker.terminate(),
  };
}

export function ownerOfThread<In, Out>(): {
  readonly owner: Owner<In, Out>;
  readonly options: unknown;
} {
  const port = parentPort;
  if (port === null) throw new Error('this file runs as a worker only');
  return {
    owner: {
      post: (message) => port.postMessage(message),
      onMessage: (listener) => void port.on('message', listener),
      take: () => receiveMessageOnPort(port)?.message as In | undefined,
      close: () => port.close(),
    },
    options: workerData,
  };
}
