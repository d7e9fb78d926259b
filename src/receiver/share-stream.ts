/** The stream's part of the receiver: publishes the inbox, and appends what other hosts have published. */
import type { Logger } from '../platform/log.ts';
import type { Engine } from '../stream/engine.ts';
import { Stream } from '../stream/stream.ts';
import type { Receiver } from './receiver.ts';
import type { SharedStream } from './shared-stream.ts';

interface ShareOptions {
  /** Connects once; rejects when no server is reached. */
  readonly connect: () => Promise<Engine>;
  readonly isConsumed: boolean;
  readonly log: Logger;
}

export function shareStream(receiver: Receiver, { connect, isConsumed, log }: ShareOptions): SharedStream {
  const { inbox, coverage, now } = receiver;
  const { inboxId, publishedSeq, streamId, streamSeq } = inbox.lastRun;
  const stream = new Stream({
    connect,
    inbox: {
      hostId: inboxId,
      position: { streamId, streamSeq },
      publishedSeq,
      get lastSeq() {
        return inbox.lastSeq;
      },
      append: (rows, position) => {
        const isFromStream = position !== null;
        // Consumed now: an earlier read of this host's mirror cannot have seen it.
        const arrivedAtMs = now();
        const arrivals = rows.map((row) => ({ ...row, arrivedAtMs, isFromStream }));
        return receiver.append(arrivals, { position });
      },
      unpublished: (afterSeq) => inbox.unpublished(afterSeq),
    },
    isConsumed,
    coverage,
    look: () => receiver.look(),
    isStoring: () => receiver.isStoring,
    now,
    log,
  });
  return {
    start: () => stream.start(receiver.webhook !== null),
    report: () => stream.report(),
    publishedSeq: () => stream.publishedSeq,
    arrived: () => stream.arrived(),
    closing: () => stream.closing(),
    stop: () => stream.stop(),
  };
}
