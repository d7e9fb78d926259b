/** The receiver as a thread of a process that also runs the mirror. */
import { collectOnceLoaded } from '../platform/heap.ts';
import { createLog } from '../platform/log.ts';
import { ownerOfThread } from '../platform/thread.ts';
import { plainError, type PlainError } from '../sqlite/errors.ts';
import type { Reply, Request } from '../sqlite/worker.ts';
import { runReceiver, type ReceiverSettings, type RunningReceiver } from './run-receiver.ts';

export type ReceiverCalls = {
  /** Waits until the thread, which starts on its own, receives. */
  start: { args: undefined; result: RunningReceiver['webhook'] };
  stop: { args: undefined; result: undefined };
  end: { args: undefined; result: undefined };
};

export type ReceiverNews =
  | { readonly type: 'logged'; readonly line: string }
  | { readonly type: 'committed' }
  | { readonly type: 'trouble'; readonly error: PlainError | null }
  /** Nothing can be stored any more. */
  | { readonly type: 'died'; readonly error: PlainError };

export interface ThreadSettings extends ReceiverSettings {
  readonly logLevel: string;
}

/** Commits follow each other within milliseconds, and the mirror needs to know of the latest only. */
const COMMITS_EVERY_MS = 5;

collectOnceLoaded();
const { owner, options } = ownerOfThread<Request<ReceiverCalls>, Reply<ReceiverNews>>();
const { logLevel, ...settings } = options as ThreadSettings;
const report = (event: ReceiverNews): void => owner.post({ event });

let isAnnouncing = false;
function announceCommit(): void {
  if (isAnnouncing) return;
  isAnnouncing = true;
  setTimeout(() => {
    isAnnouncing = false;
    report({ type: 'committed' });
  }, COMMITS_EVERY_MS);
}

const running = runReceiver(settings, {
  log: createLog(logLevel, { write: (line) => report({ type: 'logged', line }) }),
  onCommit: announceCommit,
  onTrouble: (error) => report({ type: 'trouble', error }),
  onDeath: (error) => report({ type: 'died', error: plainError(error) }),
});
running.catch(() => undefined);

async function answer(name: keyof ReceiverCalls): Promise<unknown> {
  const receiver = await running;
  switch (name) {
    case 'start':
      return receiver.webhook;
    case 'stop':
      return receiver.stop();
    case 'end':
      await receiver.close();
      owner.close();
      return undefined;
  }
}

owner.onMessage(({ id, name }) => {
  answer(name).then(
    (value) => owner.post({ id, value }),
    (error: unknown) => owner.post({ id, error: plainError(error) }),
  );
});
