/** Starts and stops the checkpoint thread. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { CheckpointNews } from './checkpoint-thread.ts';
import { workerUrl } from './worker-url.ts';

export interface Checkpointer {
  stop(): Promise<void>;
}

export function startCheckpointer(
  path: string,
  onNews: (news: CheckpointNews) => void,
  onDeath: (error: Error) => void,
): Checkpointer {
  const worker = new Worker(workerUrl('checkpoint-thread', import.meta.url), { workerData: { path } });
  let stopping = false;
  worker.on('message', onNews);
  worker.on('error', onDeath);
  worker.on('exit', (code) => {
    if (!stopping) onDeath(new Error(`the checkpoint thread ended with exit code ${code}`));
  });
  return {
    async stop(): Promise<void> {
      stopping = true;
      const ended = once(worker, 'exit');
      worker.postMessage('stop');
      await ended;
    },
  };
}
