/** A primary and its copies: real files and threads, a real private listener, and a way between them that can be cut. */
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { onTestFinished } from 'vitest';
import { digestsOf } from '../../../src/mirror/file/projected.ts';
import { openStore, REPLICA_THREADS, type StoreParts } from '../../../src/mirror/open-store.ts';
import { replaceFiles } from '../replace-files.ts';
import { connectPrimary } from '../../../src/replication/http/connect.ts';
import { makeSnapshot } from '../../../src/replication/make-snapshot.ts';
import { Replicator } from '../../../src/replication/replicator.ts';
import { SharedLog } from '../../../src/replication/shared-log.ts';
import { TransportError } from '../../../src/replication/transport.ts';
import { StoreError } from '../../../src/sqlite/errors.ts';
import type { Store } from '../../../src/mirror/store.ts';
import type { ReplicationView } from '../../../src/ops/condition/replication.ts';
import type { OpsDeps } from '../../../src/ops/shared/operator.ts';
import { newPath, readerDb, rows } from '../../mirror/mirror-file.ts';
import { startOps, TOKEN, type Ops } from '../../ops/harness.ts';
import { eventually } from '../../process/wait.ts';
import { log } from '../../reconcile/mirror.ts';
import { openWay, type Way } from '../way.ts';

export function startPrimary(
  store: Store & { readonly path: string },
  over: Partial<OpsDeps> = {},
  replication: () => ReplicationView | null = () => null,
): Promise<Ops> {
  return startOps(store, {
    token: TOKEN,
    alarms: {
      current: [],
      get own() {
        return {
          commits: { lastGoodAtMs: 0, lastError: null },
          stuck: null,
          behindSinceMs: null,
          clockAheadMs: null,
          growingSinceMs: null,
          turnedAwayAtMs: null,
          replication: replication(),
        };
      },
      condition: null,
      maxRps: null,
    },
    makeSnapshot: (signal) => makeSnapshot(store.path, 'snapshot-copied', signal),
    ...over,
  });
}

/** A way to a listener that can be cut, and ends with the test. */
export async function startWay(port: number): Promise<Way & { readonly url: string }> {
  const way = await openWay(port);
  onTestFinished(() => way.close());
  return { ...way, url: `http://127.0.0.1:${way.port}` };
}

interface Copy {
  readonly path: string;
  readonly store: Store;
  readonly state: Replicator['state'];
  readonly standing: Replicator['standing'];
  /** How often it has begun from a snapshot. */
  readonly snapshots: number;
  /** What has gone wrong with them, in words. */
  readonly problems: readonly string[];
  /** Of whom follows it in turn. */
  readonly view: () => ReplicationView;
  stop(): Promise<void>;
}

/** A copy that is begun anew from a snapshot whenever it has to be. */
export function startCopy(
  url: string,
  { path = newPath(), token = TOKEN }: { readonly path?: string; readonly token?: string | null } = {},
): Copy {
  const source = connectPrimary({ url, token, caFile: null });
  const stopping = new AbortController();
  const problems: string[] = [];
  let snapshots = 0;
  let life: { readonly store: Store; readonly replicator: Replicator } | null = null;
  const begin = async () => {
    const opened = Promise.withResolvers<StoreParts>();
    const store = await openStore(
      path,
      { onDeath: (error) => void problems.push(error.message), onNews: () => undefined },
      REPLICA_THREADS,
      (parts) => {
        opened.resolve(parts);
        const appliedSeq = () => parts.projection.appliedSeq;
        return new SharedLog({ log: parts.log, engine: null, origin: url, appliedSeq });
      },
    );
    const { log: own, projection } = await opened.promise;
    const replicator = new Replicator(
      {
        source,
        copy: (args) => own.copy(args),
        applied: (seq) => projection.applied(seq),
        onCopied: () => undefined,
        isPassed: () => false,
        onEpoch: () => undefined,
        log,
      },
      { epoch: own.epoch, lastSeq: own.lastSeq, cursor: own.copiedFrom?.cursor ?? null },
    );
    return { store, replicator };
  };
  const fetchSnapshot = async (): Promise<void> => {
    try {
      await replaceFiles({ databasePath: path, source, signal: stopping.signal });
      snapshots += 1;
    } catch (error) {
      if (!(error instanceof TransportError)) throw error;
      problems.push(error.message);
    }
  };
  /** It is tried again until somebody sees that only a snapshot helps. */
  const runUntilSnapshot = async (replicator: Replicator): Promise<void> => {
    const over = new AbortController();
    const looks = setInterval(() => {
      const { need, trouble } = replicator.state;
      if (need?.kind !== 'snapshot' || over.signal.aborted) return;
      problems.push(trouble ?? '');
      over.abort();
    }, 20);
    await replicator.run(AbortSignal.any([stopping.signal, over.signal])).finally(() => clearInterval(looks));
  };
  const live = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      try {
        life = await begin();
        await life.store.opened;
        await runUntilSnapshot(life.replicator);
      } catch (error) {
        const isUnfit = error instanceof StoreError && error.kind === 'unfit_copy';
        if (!isUnfit) throw error;
        problems.push(error.message);
      }
      const ended = life;
      life = null;
      await ended?.store.close();
      if (!stopping.signal.aborted) await fetchSnapshot();
    }
  };
  const living = live();
  living.catch((error: unknown) => void problems.push(`ended: ${String(error)}`));
  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    stopping.abort();
    await living;
    await source.close();
  };
  onTestFinished(() => (stopped ??= stop()).catch(() => undefined));
  const copy: Copy = {
    path,
    get store() {
      if (life === null) throw new Error(`no life: ${problems.join('; ')}`);
      return life.store;
    },
    get state() {
      if (life === null) throw new Error(`no life: ${problems.join('; ')}`);
      return life.replicator.state;
    },
    get standing() {
      if (life === null) throw new Error(`no life: ${problems.join('; ')}`);
      return life.replicator.standing;
    },
    get snapshots() {
      return snapshots;
    },
    problems,
    view: () => ({
      name: 'copy',
      origin: url,
      receiver: null,
      replica: {
        left: copy.state.left,
        behind_ms: copy.state.upToDateAtMs === null ? null : performance.now() - copy.state.upToDateAtMs,
        is_up_to_date:
          copy.state.upToDateAtMs !== null && performance.now() - copy.state.upToDateAtMs < 3_000,
        trouble: copy.state.trouble,
        trouble_ms: copy.state.troubleAtMs === null ? null : performance.now() - copy.state.troubleAtMs,
      },
      lead: null,
      members: { receivers: [], replicas: [] },
    }),
    stop: () => (stopped ??= stop()),
  };
  return copy;
}

/** Waits until the copy holds all of it, and looks whether it holds the same. @returns what differs. */
export async function differences(primary: Store & { readonly path: string }, copy: Copy): Promise<string[]> {
  const { lastSeq } = primary.writer;
  await eventually(
    () =>
      primary.writer.appliedSeq >= lastSeq &&
      copy.standing.lastSeq >= lastSeq &&
      copy.store.writer.appliedSeq >= lastSeq,
    { what: `entry ${lastSeq} in the copy, which has ${copy.problems.join('; ')}` },
  );
  return differingFiles(primary.path, copy.path);
}

export function differingFiles(one: string, other: string): string[] {
  const [a, b] = [one, other].map((path) => {
    const db = readerDb(path);
    const digests = new Map(digestsOf(db, 'all'));
    for (const sql of [
      'SELECT * FROM mirror_stock ORDER BY variant_id, warehouse_id',
      'SELECT * FROM mirror_variants ORDER BY variant_id',
      'SELECT * FROM mirror_changes ORDER BY seq',
      'SELECT epoch, last_seq FROM mirror_status',
      'SELECT seq, kind, at_ms, hex(payload), hex(body_hash) FROM log ORDER BY seq DESC LIMIT 1000',
    ]) {
      digests.set(sql, JSON.stringify(rows(db, sql)));
    }
    db.close();
    return digests;
  });
  return [...(a ?? [])].filter(([what, digest]) => b?.get(what) !== digest).map(([what]) => what);
}

/** A program that gives one answer to everything. */
export async function answering(status: number, type: string, body: Buffer): Promise<string> {
  const server = createHttpServer((_request, response) => {
    response.writeHead(status, { 'content-type': type, location: 'http://elsewhere.example/login?secret=1' });
    response.end(body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
}
