/** Runs a thread's work on the test's thread; messages arrive in a later turn of the event loop. */
import type { Owner, Thread } from '../../src/platform/thread.ts';

export interface FakeThread<In, Out> {
  readonly thread: Thread<In, Out>;
  readonly end: (cause?: Error) => void;
}

export function fakeThread<In, Out>(serve: (owner: Owner<In, Out>) => void): FakeThread<In, Out> {
  const queue: In[] = [];
  let isEnded = false;
  let work: (message: In) => void = () => undefined;
  let toOwner: (message: Out) => void = () => undefined;
  let onEnd: (cause: Error) => void = () => undefined;
  const later = (action: () => void): void => void Promise.resolve().then(action);
  const end = (cause = new Error('exit code 0')): void => {
    if (isEnded) return;
    isEnded = true;
    later(() => onEnd(cause));
  };
  const thread: Thread<In, Out> = {
    post: (message) => {
      if (isEnded) return;
      queue.push(message);
      later(() => {
        const next = isEnded ? undefined : queue.shift();
        if (next !== undefined) work(next);
      });
    },
    onMessage: (listener) => {
      toOwner = listener;
      later(() =>
        serve({
          post: (message) => later(() => toOwner(message)),
          onMessage: (given) => (work = given),
          take: () => queue.shift(),
          close: () => end(),
        }),
      );
    },
    onEnd: (listener) => (onEnd = listener),
    stop: () => {
      end();
      return Promise.resolve();
    },
  };
  return { thread, end };
}
