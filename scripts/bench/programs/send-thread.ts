/** Sends the load beside the simulated store, which would hold it up: making one large answer takes longer than many are late. */
import { parentPort, workerData } from 'node:worker_threads';
import { send } from '../sender.ts';

/** The requests, one after the other, and where each ends. */
export interface SendOrder {
  readonly url: string;
  readonly connections: number;
  readonly perSecond: number | null;
  readonly bytes: SharedArrayBuffer;
  readonly ends: readonly number[];
}

export type FromSender =
  /** This many have gone out. */
  | { readonly type: 'sent'; readonly count: number }
  | {
      readonly type: 'done';
      readonly tookMs: number;
      readonly answerMs: readonly number[];
      readonly refused: number;
      /** Since the epoch. */
      readonly dueAtMs: Float64Array;
    }
  | { readonly type: 'failed'; readonly error: string };

/** How often the store is told what has become true. */
const TELL_EVERY_MS = 5;

const port = parentPort;
if (port === null) throw new Error('this file runs as a worker only');
const tell = (message: FromSender): void => port.postMessage(message);
const { url, connections, perSecond, bytes, ends } = workerData as SendOrder;
const all = Buffer.from(bytes);
const requests = ends.map((end, i) => all.subarray(ends[i - 1] ?? 0, end));
let count = 0;
const timer = setInterval(() => tell({ type: 'sent', count }), TELL_EVERY_MS);
try {
  const { tookMs, answerMs, refused, dueAtMs } = await send({
    ...{ url, connections, perSecond, requests },
    onSend: (index) => (count = index + 1),
  });
  tell({ type: 'sent', count });
  tell({
    type: 'done',
    tookMs,
    answerMs,
    refused,
    dueAtMs: dueAtMs.map((ms) => performance.timeOrigin + ms),
  });
} catch (error) {
  tell({ type: 'failed', error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
} finally {
  clearInterval(timer);
}
