/** Wires the receiver: inbox, public port, pruning, and the stream if there is one. */
import { fstatSync } from 'node:fs';
import { openInboxReader } from '../inbox/inbox-file.ts';
import { readMirrorNote } from '../inbox/mirror-note.ts';
import { futureMs, keptSinceMs } from '../inbox/retention.ts';
import { isQueueFull } from '../platform/accept-queue.ts';
import { hostTime, type HostTime } from '../platform/host-time.ts';
import { listen } from '../platform/listen.ts';
import type { Logger } from '../platform/log.ts';
import { Secret } from '../platform/secret.ts';
import { isThere } from '../sqlite/is-there.ts';
import type { Engine } from '../stream/engine.ts';
import type { NatsOptions } from '../stream/nats.ts';
import type { Stream } from '../stream/stream.ts';
import type { PassedSocket } from './coverage.ts';
import { openInboxWriter, type InboxWriter, type Prunable } from './inbox-writer.ts';
import type { InboxOptions } from './open-inbox.ts';
import { pruneInbox } from './prune.ts';
import { Receiver, type ReceiverEvents } from './receiver.ts';

/** Plain values, so that they can be handed to a thread. */
export interface ReceiverSettings {
  readonly databasePath: string;
  /** null: this host takes deliveries only from the stream. */
  readonly webhook: { readonly host: string; readonly port: number; readonly fd?: number } | null;
  /** The present one first. */
  readonly secrets: readonly [string, ...string[]];
  /** null if this is the only machine. */
  readonly stream: StreamSettings | null;
  /** For the inbox of a host without a mirror: a mirror decides which rows it releases. */
  readonly retentionDays: number;
}

interface StreamSettings extends Omit<NatsOptions, 'password'> {
  readonly password: string | null;
  /** A mirror on this host needs the deliveries of other receivers. */
  readonly isConsumed: boolean;
}

export interface ReceiverPlatform {
  readonly host: HostTime;
  readonly listen: typeof listen;
  readonly passedSocket: (fd: number) => PassedSocket;
  readonly openInbox: (databasePath: string, options: InboxOptions) => InboxWriter;
  readonly openInboxReader: typeof openInboxReader;
  readonly later: (work: () => void) => void;
  readonly connectStream: (options: NatsOptions) => Promise<Engine>;
}

export function realReceiver(): ReceiverPlatform {
  return {
    host: hostTime(),
    listen,
    passedSocket: (fd) => ({ inode: fstatSync(fd).ino, wasQueueFull: isQueueFull(fd) }),
    openInbox: openInboxWriter,
    openInboxReader,
    later: (work) => afterTurns(work),
    connectStream: async (options) => {
      const { connectNats, loadNats } = await import('../stream/nats.ts');
      return connectNats(await loadNats(), options);
    },
  };
}

/**
 * A request passes some turns of the event loop before its body is here: the connection, its first bytes, the body. A
 * sync keeps the loop, so a commit waits for these turns: otherwise a slow disk would hold up a delivery once in each.
 */
const TURNS = 4;

function afterTurns(work: () => void, turns = TURNS): void {
  setImmediate(() => (turns <= 1 ? work() : afterTurns(work, turns - 1)));
}

export interface RunningReceiver {
  /** null if this host has no public port. */
  readonly webhook: { readonly host: string; readonly port: number } | null;
  /** Stops receiving. The inbox stays open, so that it is closed after its readers. */
  stop(): Promise<void>;
  close(): Promise<void>;
}

/** A webhook that agreed with the clock shows for so long that it is right. */
const CLOCK_RIGHT_FOR_MS = 60 * 60_000;

/** @throws SqliteFault if the inbox cannot be used, Error if the port cannot. */
export async function runReceiver(
  settings: ReceiverSettings,
  events: ReceiverEvents & { readonly log: Logger },
  platform: ReceiverPlatform = realReceiver(),
): Promise<RunningReceiver> {
  const { databasePath, webhook, secrets } = settings;
  const { log } = events;
  const inbox = platform.openInbox(databasePath, {
    now: platform.host.wallMs,
    onReplaced: (damage, movedTo) =>
      log.error(
        { err: damage, movedTo },
        'the inbox cannot be used: it was moved aside, a new one takes webhooks, and the mirror reads everything again',
      ),
  });
  const receiver = new Receiver({ ...events, ...platform, inbox }, settings.stream !== null);
  const stopping = new AbortController();
  const stop = async (): Promise<void> => {
    stopping.abort();
    await receiver.stop();
  };
  try {
    const stream =
      settings.stream === null ? null : await joined(settings.stream, receiver, events, platform);
    if (stream !== null) receiver.share(stream);
    await receiver.start(
      webhook === null
        ? null
        : {
            ...webhook,
            // Before the port is served: serving empties the queue.
            passed:
              webhook.fd === undefined ? null : { fd: webhook.fd, ...platform.passedSocket(webhook.fd) },
            secrets,
            listen: platform.listen,
          },
    );
    const prunable = (): Prunable | null => {
      const publishedSeq = stream?.publishedSeq ?? Infinity;
      // A mirror that is created here later reads everything, and needs none of these rows.
      if (settings.stream?.isConsumed === false && !isThere(databasePath)) {
        const { clockRightAtMs } = receiver;
        if (clockRightAtMs === null) return null;
        // Not the present: since then, the clock may have been set wrong.
        const isRightNow = receiver.now() - clockRightAtMs < CLOCK_RIGHT_FOR_MS;
        return {
          upToSeq: publishedSeq,
          beforeMs: keptSinceMs(clockRightAtMs, settings.retentionDays),
          afterMs: isRightNow ? futureMs(receiver.now()) : Infinity,
        };
      }
      const note = readMirrorNote(databasePath);
      if (note?.inboxId !== inbox.inboxId) return null;
      return { upToSeq: Math.min(note.prunableSeq, publishedSeq), beforeMs: Infinity, afterMs: Infinity };
    };
    stream?.start(receiver.webhook !== null);
    void pruneInbox({ inbox, prunable, log }, stopping.signal);
    return {
      webhook: receiver.webhook,
      stop,
      close: () => {
        receiver.close();
        return Promise.resolve();
      },
    };
  } catch (error) {
    await stop();
    receiver.close();
    throw error;
  }
}

/** The stream's code is loaded only where there is one. */
async function joined(
  { isConsumed, password, ...nats }: StreamSettings,
  host: Receiver,
  { log }: { readonly log: Logger },
  { connectStream }: Pick<ReceiverPlatform, 'connectStream'>,
): Promise<Stream> {
  const { Stream } = await import('../stream/stream.ts');
  const options: NatsOptions = { ...nats, password: password === null ? null : new Secret(password) };
  return new Stream({ host, connect: () => connectStream(options), isConsumed, log });
}
