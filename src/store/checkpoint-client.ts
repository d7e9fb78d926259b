/** Starts and stops the checkpoint thread. */
import type { CheckpointNews, FromCheckpointer } from './checkpoint-thread.ts';
import type { Thread } from './thread.ts';

export interface Checkpointer {
  stop(): Promise<void>;
}

/**
 * @param restartLog asks the writer to let the write-ahead log start over.
 * @param onDeath called once, when the thread ends without having been asked to.
 */
export function startCheckpointer(
  thread: Thread<'stop', FromCheckpointer>,
  restartLog: (keepBytes: number | null) => void,
  onNews: (news: CheckpointNews) => void,
  onDeath: (error: Error) => void,
): Checkpointer {
  let isOver = false;
  const ended = Promise.withResolvers<void>();
  thread.onMessage((message) => {
    if (message.type === 'restart') restartLog(message.keepBytes);
    else onNews(message);
  });
  thread.onEnd((cause) => {
    ended.resolve();
    if (isOver) return;
    isOver = true;
    onDeath(new Error(`the database's checkpoint thread has ended: ${cause.message}`, { cause }));
  });
  return {
    async stop(): Promise<void> {
      if (isOver) return;
      isOver = true;
      thread.post('stop');
      await ended.promise;
    },
  };
}
