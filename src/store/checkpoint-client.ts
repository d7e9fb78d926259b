/** Starts and stops the checkpoint thread. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { CheckpointNews } from './checkpoint-thread.ts';
import { workerUrl } from './worker-url.ts';

export interface Checkpointer {
  stop(): Promise<void>;
}

/** @param onDeath told, once, when the thread ends without having been asked to. */
export function startCheckpointer(
  path: string,
  onNews: (news: CheckpointNews) => void,
  onDeath: (error: Error) => void,
): Checkpointer {
  const worker = new Worker(workerUrl('checkpoint-thread', import.meta.url), { workerData: { path } });
  let isOver = false;
  const die = (error: Error): void => {
    if (isOver) return;
    isOver = true;
    onDeath(error);
  };
  worker.on('message', onNews);
  worker.on('error', die);
  worker.on('exit', (code) => die(new Error(`the checkpoint thread ended with exit code ${code}`)));
  return {
    async stop(): Promise<void> {
      if (isOver) return;
      isOver = true;
      const ended = once(worker, 'exit');
      worker.postMessage('stop');
      await ended;
    },
  };
}
