/** The mirror without its listeners: its file, the inbox, client of the store, and reconciler. */
import { scryptSync } from 'node:crypto';
import type { Config } from '../config/config.ts';
import { openInboxReader, type ReceiverRow } from '../inbox/inbox-file.ts';
import { InboxView } from '../inbox/inbox-view.ts';
import { Mirror, type MirrorFiles } from '../mirror/mirror.ts';
import { openForQueries } from '../mirror/reader/open-for-queries.ts';
import { SharedClock } from '../mirror/shared-clock.ts';
import type { Monitor } from '../ops/monitor.ts';
import { FactLog } from '../ops/state/fact-log.ts';
import { hostTime, type HostTime } from '../platform/host-time.ts';
import type { Logger } from '../platform/log.ts';
import type { Secret } from '../platform/secret.ts';
import type { ClockReading } from '../platform/own-clock.ts';
import { startThread } from '../platform/thread.ts';
import { Reconciler } from '../reconcile/reconciler.ts';
import { connectService } from '../store-api/client.ts';
import { storeAt } from '../store-api/transport/http.ts';
import { ownFile } from '../sqlite/database-files.ts';
import { SqliteFault } from '../sqlite/errors.ts';
import type { Db } from '../sqlite/open.ts';

interface DatabaseFiles extends MirrorFiles {
  openInbox(): Db;
}

export interface MirrorPlatform {
  readonly files: (path: string) => DatabaseFiles;
  readonly connect: typeof connectService;
  /** In [0, 1). */
  readonly random: () => number;
  readonly host: HostTime;
}

export function realFiles(path: string): DatabaseFiles {
  const { sinceBootMs } = hostTime();
  return {
    apply: (opening) =>
      startThread('mirror/writer/apply-thread', { path, ...opening, sinceBootMs: sinceBootMs() }),
    openReader: () => openForQueries(path),
    openInbox: () => openInboxReader(path),
  };
}

export function realMirror(): MirrorPlatform {
  return { files: realFiles, connect: connectService, random: Math.random, host: hostTime() };
}

export interface OpenMirror {
  readonly mirror: Mirror;
  readonly inbox: InboxView;
  readonly reconciler: Reconciler;
  /** The own clock, epoch ms. */
  readonly now: () => number;
  /** Takes over the receiver's clock; call it each second. */
  readonly followReceiver: () => void;
  close(): Promise<void>;
}

interface MirrorOptions {
  readonly config: Config;
  readonly log: Logger;
  readonly platform: MirrorPlatform;
  readonly monitor: Pick<Monitor, 'onAnswer'>;
}

/** Opens next to an inbox that exists. Reads begin with `reconciler.start()`. */
export function openMirror({ config, log, platform, monitor }: MirrorOptions): OpenMirror {
  const { service, database, schedules } = config;
  const files = platform.files(database.path);
  const fingerprints = service.webhookSecrets.map((secret) => fingerprintOf(secret, service.clientId));
  const clock = new SharedClock(platform.host, clockOf(files));
  const { now } = clock;
  const inbox = new InboxView(() => files.openInbox());
  const mirror = new Mirror(
    files,
    {
      onOpened: (newEpoch) => {
        if (newEpoch !== null && newEpoch.why !== null) {
          log.warn(
            newEpoch,
            'a new epoch has begun: consumers of the change feed start over, ' +
              'and every product is read; until then its rows are suspect',
          );
        }
        const names = Object.fromEntries(config.warehouseNames);
        // If the mirror fails before these are applied, the next opening repeats them.
        mirror.command('nameWarehouses', { names }).catch(() => undefined);
        mirror.append({ kind: 'secrets', atMs: now(), fingerprints }).catch(() => undefined);
      },
      onFault: (fault) => {
        if (fault === null) log.warn('the mirror works again');
        else {
          log.error(
            { err: fault },
            'the mirror has failed and is opened again; deliveries are accepted meanwhile',
          );
        }
      },
    },
    now,
  );
  mirror.open();
  const { client, tokens } = platform.connect({
    baseUrl: service.baseUrl,
    clientId: service.clientId,
    clientSecret: service.clientSecret.reveal(),
    tokenFilePath: ownFile(database.path, 'token'),
    maxConcurrency: service.maxConcurrency,
    onAnswer: monitor.onAnswer,
    onTokenFileError: (error) =>
      log.warn(
        { err: error },
        'the token file cannot be used: the token is kept in memory; check the permissions and the disk of its folder',
      ),
    now,
  });
  const reconciler = new Reconciler({
    mirror,
    client,
    tokens,
    now,
    random: platform.random,
    log,
    maxConcurrency: service.maxConcurrency,
    maxRps: service.maxRps,
    storeAt: storeAt(service.baseUrl),
    mayRead: () => clock.mayRead,
    schedules,
  });
  const factLog = new FactLog(log);
  mirror.onApplied(({ reports }) => {
    for (const { facts, seq } of reports) for (const fact of facts) factLog.log(fact, seq);
  });
  return {
    mirror,
    inbox,
    reconciler,
    now,
    followReceiver: () => {
      if (!clock.follow(readingOf(inbox.receiver()))) return;
      log.error('the clock steps back, because it was ahead: the mirror is opened again');
      mirror.reopen(new SqliteFault('closed', 'the clock was ahead, and steps back'));
    },
    async close(): Promise<void> {
      await reconciler.stop();
      await client.close();
      await mirror.close();
      inbox.close();
    },
  };
}

const FINGERPRINT_BYTES = 16;
/** Some 10 ms for each secret. */
const FINGERPRINT_COST = 2 ** 12;

/** @returns a text from which a reader of the file cannot guess the secret; the same for both, always the same. */
function fingerprintOf(secret: Secret, clientId: string): string {
  return scryptSync(secret.reveal(), clientId, FINGERPRINT_BYTES, { N: FINGERPRINT_COST }).toString('hex');
}

/** The last reading of the receiver's clock; null before its first heartbeat, or while the inbox cannot be read. */
function clockOf(files: DatabaseFiles): ClockReading | null {
  const inbox = new InboxView(() => files.openInbox());
  try {
    return readingOf(inbox.receiver());
  } finally {
    inbox.close();
  }
}

function readingOf(row: ReceiverRow | null): ClockReading | null {
  if (row === null || row.clockMs === null || row.sinceBootMs === null) return null;
  return { clockMs: row.clockMs, sinceBootMs: row.sinceBootMs, bootId: row.bootId };
}
