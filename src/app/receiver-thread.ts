/** The main thread's side of the receiver's thread. */
import type { DestinationStream } from 'pino';
import { startThread } from '../platform/thread.ts';
import { SqliteFault } from '../sqlite/errors.ts';
import type {
  ReceiverThreadEvent,
  ReceiverThreadRequest,
  ThreadSettings,
} from '../receiver/receiver-thread.ts';
import type { ReceiverEvents, RunningReceiver } from '../receiver/run-receiver.ts';

/**
 * The requests of 256 connections end before V8 promotes their objects to its old generation. With 8 MB, a delivery
 * costs a sixth more processor.
 */
const YOUNG_GENERATION_MB = 24;

interface StartingReceiver {
  /**
   * Resolves once webhooks are received. @param output takes the thread's log lines. @throws SqliteFault if webhooks
   * cannot be received.
   */
  running(events: ReceiverEvents, output: DestinationStream): Promise<RunningReceiver>;
}

/** Starts the thread at once, so that it opens the inbox while the caller loads the rest of the program. */
export function startReceiverThread(settings: ThreadSettings): StartingReceiver {
  const thread = startThread<ReceiverThreadRequest, ReceiverThreadEvent>(
    'receiver/receiver-thread',
    settings,
    YOUNG_GENERATION_MB,
  );
  // The thread may listen, log and fail before the rest of the program is loaded.
  const handler = Promise.withResolvers<(event: ReceiverThreadEvent) => void>();
  thread.onMessage((event) => void handler.promise.then((handle) => handle(event)));
  return {
    running: ({ onCommit, onDeath, onTrouble }, output) => {
      const listening = Promise.withResolvers<RunningReceiver>();
      const stopped = Promise.withResolvers<void>();
      const closed = Promise.withResolvers<void>();
      let isListening = false;
      const ended = (): void => {
        stopped.resolve();
        closed.resolve();
      };
      const fail = (error: Error): void => {
        ended();
        if (isListening) onDeath(error);
        else listening.reject(error);
      };
      let isStopping = false;
      handler.resolve((event) => {
        switch (event.type) {
          case 'listening':
            isListening = true;
            listening.resolve({
              webhook: event.webhook,
              stop: async () => {
                isStopping = true;
                thread.post({ type: 'stop' });
                await stopped.promise;
              },
              close: async () => {
                thread.post({ type: 'close' });
                await closed.promise;
              },
            });
            return;
          case 'logged':
            output.write(event.line);
            return;
          case 'committed':
            onCommit();
            return;
          case 'trouble':
            onTrouble(event.error);
            return;
          case 'failed':
            // Its port and timers would keep the process alive.
            isStopping = true;
            void thread.stop();
            fail(new SqliteFault(event.error.kind, event.error.message));
            return;
          case 'stopped':
            stopped.resolve();
            return;
          case 'closed':
            closed.resolve();
        }
      });
      thread.onEnd((cause) => {
        ended();
        if (!isStopping) fail(new Error(`the receiver’s thread has ended: ${cause.message}`, { cause }));
      });
      return listening.promise;
    },
  };
}
