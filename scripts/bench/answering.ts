/** Questions about answers and visible rows under load. */
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { LEVELS_PER_PRODUCT } from './catalogue.ts';
import {
  atRate,
  CONNECTIONS,
  lastSecond,
  ms,
  PER_SECOND,
  PRODUCTS,
  quantile,
  withStage,
  type Bench,
  type Row,
} from './question.ts';
import { BASELINE, Server } from './server.ts';
import type { Stage } from './stage.ts';

const WARM_UP = 8_000;
/** On two hardware threads of one core, the cost of an answer differs by a third from one round to the next. */
const ROUNDS = 8;

export function burst(bench: Bench): Promise<Row> {
  return withStage(bench, PRODUCTS, async (stage) => {
    const mirror = await stage.startSynced();
    const baseline = new Server(BASELINE, stage.env, bench.folder);
    try {
      const perSecond = async (server: Server): Promise<number> => {
        const { webhooks } = await server.listening();
        const changesStore = server === mirror;
        const sent = await stage.send(webhooks, {
          connections: CONNECTIONS,
          pace: 'as answered',
          changesStore,
        });
        if (sent.refused > 0) throw new Error(`${sent.refused} deliveries were answered 503`);
        return (sent.answerMs.length / sent.tookMs) * 1_000;
      };
      let warm = 0;
      for (let round = 0; round < 2; round += 1) {
        await stage.prepare(WARM_UP, lastSecond());
        await perSecond(baseline);
        warm = await perSecond(mirror);
      }
      await stage.prepare(Math.round(warm * (bench.quick ? 4 : 30)), lastSecond());
      // Before and after, because the speed of the machine varies.
      const before = await perSecond(baseline);
      const ours = await perSecond(mirror);
      const bare = (before + (await perSecond(baseline))) / 2;
      const ratio = ours / bare;
      return {
        what: 'deliveries answered per second in a burst, against a server that only verifies',
        result: `${ours.toFixed(0)} : ${bare.toFixed(0)} = ${ratio.toFixed(2)}`,
        target: '≥ 0.8',
        met: ratio >= 0.8,
        fails: ratio < 0.1,
      };
    } finally {
      await baseline.end();
    }
  });
}

export function visible(bench: Bench): Promise<Row> {
  return withStage(bench, PRODUCTS, async (stage) => {
    await stage.startSynced();
    await (
      await atRate(stage, 3)
    ).sent;
    const { fromMs, changes, sent } = await atRate(stage, bench.quick ? 5 : 30);
    const db = new Database(stage.databasePath, { readonly: true });
    try {
      const after = db.prepare<[number, number], { readonly seq: number; readonly updateTimeMs: number }>(
        `SELECT seq, update_time AS updateTimeMs FROM mirror_changes
         WHERE seq > ? AND update_time >= ? AND source = 'webhook' ORDER BY seq`,
      );
      const delaysMs: number[] = [];
      let seq = db.prepare<[], number>('SELECT last_seq FROM mirror_status').pluck().get() ?? 0;
      let endedAtMs: number | null = null;
      void sent.then(
        () => (endedAtMs = Date.now()),
        () => (endedAtMs = Date.now()),
      );
      while (delaysMs.length < changes) {
        for (const row of after.all(seq, Math.floor(fromMs))) {
          seq = row.seq;
          delaysMs.push(Date.now() - row.updateTimeMs);
        }
        if (endedAtMs !== null && Date.now() - endedAtMs > 30_000)
          throw new Error(`${changes - delaysMs.length} of ${changes} changes did not become visible`);
        await sleep(2);
      }
      await sent;
      const [p50, p99, max] = [0.5, 0.99, 1].map((share) => quantile(delaysMs, share)) as [
        number,
        number,
        number,
      ];
      return {
        what: `from a change to its visible row at ${PER_SECOND}/s: p50, p99, max`,
        result: [p50, p99, max].map(ms).join(', '),
        target: 'p99 ≤ 100 ms',
        met: p99 <= 100,
      };
    } finally {
      db.close();
    }
  });
}

export function size(bench: Bench): Promise<Row> {
  const [small, large] = [10_000, bench.quick ? 1_000_000 : 10_000_000];
  const perRound = bench.quick ? 5_000 : 20_000;
  return withStage(bench, small / LEVELS_PER_PRODUCT, (little) =>
    withStage(bench, large / LEVELS_PER_PRODUCT, async (big) => {
      const cost = async (stage: Stage): Promise<number> => {
        await stage.prepare(perRound, lastSecond());
        const { webhooks } = await stage.mirror.listening();
        const beforeMs = stage.mirror.receiverMs();
        await stage.send(webhooks, { connections: 64, pace: 'as answered', changesStore: true });
        const tookMs = stage.mirror.receiverMs() - beforeMs;
        // The next round begins when this one is applied.
        await sleep(5_000);
        return (tookMs * 1_000) / perRound;
      };
      await Promise.all([little.startSynced(), big.startSynced()]);
      const rounds: { readonly little: number; readonly big: number }[] = [];
      // The first one warms up.
      for (let round = 0; round < ROUNDS; round += 1)
        rounds.push({ little: await cost(little), big: await cost(big) });
      const median = (of: 'little' | 'big'): number =>
        quantile(
          rounds.slice(1).map((round) => round[of]),
          0.5,
        );
      const [littleUs, bigUs] = [median('little'), median('big')];
      const ratio = bigUs / littleUs;
      return {
        what: `processor for an answer with ${large / 1e6} M levels, against 10 k`,
        result: `${bigUs.toFixed(0)} : ${littleUs.toFixed(0)} µs = ${ratio.toFixed(2)}`,
        target: '≤ 1.1',
        met: ratio <= 1.1,
        fails: ratio > 2.2,
      };
    }),
  );
}
