/** The stream's part of the receiver: publishes the inbox, and appends what other hosts have published. */
import type { Logger } from '../platform/log.ts';
import type { Engine } from '../stream/engine.ts';
import { Stream } from '../stream/stream.ts';
import type { Receiver, SharedStream } from './receiver.ts';

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
      metadata: { hostId: inboxId, publishedSeq, streamId, streamSeq },
      get lastSeq() {
        return inbox.lastSeq;
      },
      append: (kind, body) => receiver.append({ kind, body, arrivedAtMs: now(), isFromStream: true }),
      unpublished: (afterSeq) => inbox.unpublished(afterSeq),
    },
    isConsumed,
    coverage,
    look: () => receiver.look(),
    now,
    log,
  });
  return {
    start: () => {
      if (receiver.webhook !== null) stream.receive();
      stream.start();
    },
    report: () => stream.report(),
    place: () => stream.place,
    arrived: () => stream.arrived(),
    stoodStill: () => stream.stoodStill(),
    stop: () => stream.stop(),
  };
}
