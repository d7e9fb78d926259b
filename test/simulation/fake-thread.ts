/** Runs the mirror's threads on the simulation's thread; messages take virtual time. */
import type { Owner, Thread } from '../../src/platform/thread.ts';
import { present } from '../shared/present.ts';
import type { Life, VirtualTime } from './virtual-time.ts';

export interface ThreadPace {
  readonly messageMs: () => number;
  readonly workMs: () => number;
}

export function startFakeThread<In, Out>(
  time: VirtualTime,
  life: Life,
  pace: ThreadPace,
  serve: (owner: Owner<In, Out>) => void,
): Thread<In, Out> {
  const inbox: In[] = [];
  let onMessage: (message: In) => void = () => undefined;
  let toOwner: (message: Out) => void = () => undefined;
  let onEnd: (cause: Error) => void = () => undefined;
  let busyUntilMs = time.nowMs;
  let lastOutMs = time.nowMs;
  let lastInMs = time.nowMs;
  let isServing = false;
  let closed = false;

  const work = (): void => {
    if (!isServing || closed || inbox.length === 0) return;
    if (busyUntilMs > time.nowMs) {
      time.at(busyUntilMs, life, work);
      return;
    }
    busyUntilMs = time.nowMs;
    const message = present(inbox.shift());
    try {
      onMessage(message);
    } catch (error) {
      closed = true;
      tell(() => onEnd(error instanceof Error ? error : new Error(String(error))));
      return;
    }
    work();
  };
  const tell = (action: () => void): void => {
    lastOutMs = Math.max(lastOutMs, busyUntilMs + pace.messageMs());
    time.at(lastOutMs, life, action);
  };
  const owner: Owner<In, Out> = {
    post: (message) => {
      busyUntilMs = Math.max(busyUntilMs, time.nowMs) + pace.workMs();
      tell(() => toOwner(message));
    },
    onMessage: (listener) => (onMessage = listener),
    take: () => inbox.shift(),
    close: () => {
      closed = true;
      tell(() => onEnd(new Error('exit code 0')));
    },
  };
  time.after(pace.messageMs(), life, () => {
    serve(owner);
    isServing = true;
    work();
  });
  return {
    post: (message) => {
      lastInMs = Math.max(lastInMs, time.nowMs + pace.messageMs());
      time.at(lastInMs, life, () => {
        inbox.push(message);
        work();
      });
    },
    onMessage: (listener) => (toOwner = listener),
    onEnd: (listener) => (onEnd = listener),
    stop: () => {
      closed = true;
      onEnd(new Error('exit code 1'));
      return Promise.resolve();
    },
  };
}
