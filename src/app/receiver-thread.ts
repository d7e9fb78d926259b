/** The main thread's side of the receiver's thread. */
import type { DestinationStream } from 'pino';
import { startThread } from '../platform/thread.ts';
import { SqliteFault } from '../sqlite/errors.ts';
import { Requests, type Reply, type Request } from '../sqlite/worker.ts';
import type { ReceiverCalls, ReceiverNews, ThreadSettings } from '../receiver/receiver-thread.ts';
import type { ReceiverEvents } from '../receiver/receiver.ts';
import type { RunningReceiver } from '../receiver/run-receiver.ts';

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
  const thread = startThread<Request<ReceiverCalls>, Reply<ReceiverNews>>(
    'receiver/receiver-thread',
    settings,
    YOUNG_GENERATION_MB,
  );
  // The thread may listen, log and fail before the rest of the program is loaded.
  const handler = Promise.withResolvers<(news: ReceiverNews) => void>();
  const requests = new Requests<ReceiverCalls, ReceiverNews>(
    thread,
    (news) => void handler.promise.then((handle) => handle(news)),
  );
  const listening = requests.call('start', undefined);
  listening.catch(() => undefined);
  return {
    running: async ({ onCommit, onDeath, onTrouble }, output) => {
      let isEnding = false;
      // Its port and timers would keep the process alive.
      const terminate = (): void => {
        isEnding = true;
        void thread.stop();
      };
      handler.resolve((news) => {
        switch (news.type) {
          case 'logged':
            output.write(news.line);
            return;
          case 'committed':
            onCommit();
            return;
          case 'trouble':
            onTrouble(news.error);
            return;
          case 'died':
            terminate();
            onDeath(new SqliteFault(news.error.kind, news.error.message));
        }
      });
      const webhook = await listening.catch((error: unknown) => {
        terminate();
        throw error;
      });
      void requests.exited.then((cause) => {
        if (!isEnding) onDeath(new Error(`the receiver’s thread has ended: ${cause.message}`, { cause }));
      });
      return {
        webhook,
        stop: async () => {
          isEnding = true;
          // If it has died, nothing is left to stop.
          await Promise.race([requests.exited, requests.call('stop', undefined)]);
        },
        close: () => requests.stop(new SqliteFault('closed', 'the receiver is closed')),
      };
    },
  };
}
