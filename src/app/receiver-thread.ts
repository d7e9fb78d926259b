/** The main thread's side of the receiver's thread. */
import { startThread } from '../platform/thread.ts';
import { StoreError } from '../sqlite/errors.ts';
import type {
  ReceiverThreadEvent,
  ReceiverThreadRequest,
  ThreadSettings,
} from '../receiver/receiver-thread.ts';
import type { ReceiverEvents, RunningReceiver } from '../receiver/run-receiver.ts';

export interface StartingReceiver {
  /** Resolves once webhooks are received. @throws StoreError if they cannot be. */
  running(events: ReceiverEvents): Promise<RunningReceiver>;
}

/** Starts the thread at once, so that it opens the inbox while the caller loads the rest of the program. */
export function startReceiverThread(settings: ThreadSettings): StartingReceiver {
  const thread = startThread<ReceiverThreadRequest, ReceiverThreadEvent>(
    'receiver/receiver-thread',
    settings,
  );
  return {
    running: ({ onCommit, onDeath, onTrouble }) => {
      const listening = Promise.withResolvers<RunningReceiver>();
      const stopped = Promise.withResolvers<void>();
      let isListening = false;
      const fail = (error: Error): void => {
        stopped.resolve();
        if (isListening) onDeath(error);
        else listening.reject(error);
      };
      let isStopping = false;
      thread.onMessage((event) => {
        switch (event.type) {
          case 'listening':
            isListening = true;
            listening.resolve({
              webhook: event.webhook,
              stop: async (graceMs) => {
                isStopping = true;
                thread.post({ graceMs: graceMs ?? null });
                await stopped.promise;
              },
            });
            return;
          case 'committed':
            onCommit();
            return;
          case 'trouble':
            onTrouble(event.error);
            return;
          case 'failed':
            fail(new StoreError(event.error.kind, event.error.message));
            return;
          case 'stopped':
            stopped.resolve();
        }
      });
      thread.onEnd((cause) => {
        stopped.resolve();
        if (!isStopping) fail(new Error(`the receiver’s thread has ended: ${cause.message}`, { cause }));
      });
      return listening.promise;
    },
  };
}
