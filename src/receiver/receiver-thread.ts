/** The receiver as a thread of a process that also runs the mirror. */
import { createLog } from '../platform/log.ts';
import { ownerOfThread } from '../platform/thread.ts';
import { plainError, type PlainError } from '../sqlite/errors.ts';
import { runReceiver, type ReceiverSettings, type RunningReceiver } from './run-receiver.ts';

export interface ReceiverThreadRequest {
  readonly type: 'stop' | 'close';
}

export type ReceiverThreadEvent =
  | { readonly type: 'listening'; readonly webhook: RunningReceiver['webhook'] }
  | { readonly type: 'logged'; readonly line: string }
  | { readonly type: 'committed' }
  | { readonly type: 'trouble'; readonly error: PlainError | null }
  | { readonly type: 'failed'; readonly error: PlainError }
  | { readonly type: 'stopped' }
  | { readonly type: 'closed' };

export interface ThreadSettings extends ReceiverSettings {
  readonly logLevel: string;
}

/** Commits follow each other within milliseconds, and the mirror needs to know of the latest only. */
const COMMITS_EVERY_MS = 5;

const { owner, options } = ownerOfThread<ReceiverThreadRequest, ReceiverThreadEvent>();
const { logLevel, ...settings } = options as ThreadSettings;

let isAnnouncing = false;
function announceCommit(): void {
  if (isAnnouncing) return;
  isAnnouncing = true;
  setTimeout(() => {
    isAnnouncing = false;
    owner.post({ type: 'committed' });
  }, COMMITS_EVERY_MS);
}

function fail(error: unknown): void {
  owner.post({ type: 'failed', error: plainError(error) });
  owner.close();
}

const running = runReceiver(settings, {
  log: createLog(logLevel, { write: (line) => owner.post({ type: 'logged', line }) }),
  onCommit: announceCommit,
  onTrouble: (error) => owner.post({ type: 'trouble', error }),
  onDeath: fail,
});
running.then(({ webhook }) => owner.post({ type: 'listening', webhook }), fail);

async function answer(request: ReceiverThreadRequest): Promise<void> {
  const receiver = await running;
  switch (request.type) {
    case 'stop':
      await receiver.stop();
      owner.post({ type: 'stopped' });
      return;
    case 'close':
      await receiver.close();
      owner.post({ type: 'closed' });
      owner.close();
  }
}

owner.onMessage((request) => {
  answer(request).catch(fail);
});
