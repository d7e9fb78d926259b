/** The questions of the bench. Each opens its own stage. */
import Database from 'better-sqlite3';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { signBody } from '../../src/store-api/signature.ts';
import { LEVELS_PER_PRODUCT } from './catalogue.ts';
import { BASELINE, MIRROR, Server } from './server.ts';
import { freePort, Stage, untilLive } from './stage.ts';

interface Bench {
  /** Shorter runs and smaller catalogues. */
  readonly quick: boolean;
  /** A folder that is removed at the end. */
  readonly folder: string;
}

export interface Row {
  readonly question: string;
  readonly what: string;
  readonly result: string;
  readonly target: string;
  readonly met: boolean;
  /** Only a ratio fails the run, and only one that a busy machine does not explain. */
  readonly fails: boolean;
  readonly values: Readonly<Record<string, number>>;
}

const CONNECTIONS = 256;
const PER_SECOND = 2_000;
/** 20,000 levels. */
const PRODUCTS = 2_000;
const WARM_UP = 8_000;

async function withStage<T>(
  { folder }: Bench,
  products: number,
  measure: (stage: Stage) => Promise<T>,
): Promise<T> {
  const stage = await Stage.open(folder, products);
  try {
    return await measure(stage);
  } finally {
    await stage.close();
  }
}

function quantile(values: ArrayLike<number>, q: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? NaN;
}

const ms = (value: number): string => `${value.toFixed(1)} ms`;
/** The second before now: later than the reads, and no earlier than the deliveries of the load before. */
const lastSecond = () => ({ fromMs: Date.now() - 1_000, toMs: Date.now() });

function burst(bench: Bench): Promise<Row> {
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
        question: 'a',
        what: 'deliveries answered per second in a burst, against a server that only verifies',
        result: `${ours.toFixed(0)} : ${bare.toFixed(0)} = ${ratio.toFixed(2)}`,
        target: '≥ 0.7',
        met: ratio >= 0.7,
        fails: ratio < 0.1,
        values: { perSecond: ours, barePerSecond: bare, ratio },
      };
    } finally {
      await baseline.end();
    }
  });
}

/** Prepares a load at `PER_SECOND` and sends it to the mirror. */
async function atRate(stage: Stage, seconds: number) {
  const count = PER_SECOND * seconds;
  const fromMs = Date.now() + 2_000 + count / 10;
  const changes = await stage.prepare(count, { fromMs, toMs: fromMs + seconds * 1_000 });
  const { webhooks } = await stage.mirror.listening();
  const sent = stage.send(webhooks, {
    connections: CONNECTIONS,
    pace: 'by update time',
    changesStore: true,
  });
  return { fromMs, changes, sent };
}

function latency(bench: Bench): Promise<Row> {
  return withStage(bench, PRODUCTS, async (stage) => {
    const { ops } = await (await stage.startSynced()).listening();
    await (
      await atRate(stage, 3)
    ).sent;
    const { sent } = await atRate(stage, bench.quick ? 5 : 30);
    let isSending = true;
    let runs = 0;
    const resyncs = (async () => {
      while (isSending) {
        const headers = { 'content-type': 'application/json' };
        const answer = await fetch(`${ops}api/resync`, { method: 'POST', headers, body: '{}' });
        if (answer.ok) runs += 1;
        await answer.arrayBuffer();
        await sleep(500);
      }
    })();
    const { answerMs, refused } = await sent.finally(() => (isSending = false));
    await resyncs;
    const [p50, p99, p999, max] = [0.5, 0.99, 0.999, 1].map((q) => quantile(answerMs, q)) as [
      number,
      number,
      number,
      number,
    ];
    return {
      question: 'b',
      what: `answers at ${PER_SECOND}/s during full resyncs: p50, p99, p99.9, max`,
      result: `${[p50, p99, p999, max].map(ms).join(', ')}; ${refused} refused`,
      target: 'p99.9 ≤ 20 ms, none refused',
      met: p999 <= 20 && refused === 0,
      fails: false,
      values: { p50, p99, p999, max, refused, resyncs: runs },
    };
  });
}

function visible(bench: Bench): Promise<Row> {
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
      const [p50, p99, max] = [0.5, 0.99, 1].map((q) => quantile(delaysMs, q)) as [number, number, number];
      return {
        question: 'c',
        what: `from a change to its visible row at ${PER_SECOND}/s: p50, p99, max`,
        result: [p50, p99, max].map(ms).join(', '),
        target: 'p99 ≤ 100 ms',
        met: p99 <= 100,
        fails: false,
        values: { p50, p99, max },
      };
    } finally {
      db.close();
    }
  });
}

function size(bench: Bench): Promise<Row> {
  const [small, large] = [10_000, bench.quick ? 1_000_000 : 10_000_000];
  const perRound = bench.quick ? 5_000 : 20_000;
  return withStage(bench, small / LEVELS_PER_PRODUCT, (little) =>
    withStage(bench, large / LEVELS_PER_PRODUCT, async (big) => {
      const cost = async (stage: Stage): Promise<number> => {
        await stage.prepare(perRound, lastSecond());
        const { webhooks } = await stage.mirror.listening();
        const beforeMs = stage.mirror.mainThreadMs();
        await stage.send(webhooks, { connections: 64, pace: 'as answered', changesStore: true });
        const tookMs = stage.mirror.mainThreadMs() - beforeMs;
        // The next round begins when this one is applied.
        await sleep(5_000);
        return (tookMs * 1_000) / perRound;
      };
      await Promise.all([little.startSynced(), big.startSynced()]);
      const rounds: { readonly little: number; readonly big: number }[] = [];
      // The first round warms up.
      for (let round = 0; round < 4; round += 1)
        rounds.push({ little: await cost(little), big: await cost(big) });
      const median = (of: 'little' | 'big'): number =>
        quantile(
          rounds.slice(1).map((round) => round[of]),
          0.5,
        );
      const [littleUs, bigUs] = [median('little'), median('big')];
      const ratio = bigUs / littleUs;
      return {
        question: 'd',
        what: `processor for an answer with ${large / 1e6} M levels, against 10 k`,
        result: `${bigUs.toFixed(0)} : ${littleUs.toFixed(0)} µs = ${ratio.toFixed(2)}`,
        target: '≤ 1.1',
        met: ratio <= 1.1,
        fails: ratio > 2.2,
        values: { levels: large, bigUs, littleUs, ratio },
      };
    }),
  );
}

async function memory(bench: Bench): Promise<Row> {
  const products = bench.quick ? 5_000 : 100_000;
  const idleMb = await withStage(bench, 10, async (stage) => (await stage.startSynced()).memoryMb('now'));
  return withStage(bench, products, async (stage) => {
    const startedMs = performance.now();
    const mirror = await stage.startSynced();
    const tookS = (performance.now() - startedMs) / 1_000;
    const peakMb = mirror.memoryMb('peak');
    return {
      question: 'e',
      what: `memory: peak of the first read of ${products} products; idle`,
      result: `${peakMb.toFixed(0)} MB (in ${tookS.toFixed(0)} s); ${idleMb.toFixed(0)} MB`,
      target: '≤ 250 MB; ≤ 120 MB',
      met: peakMb <= 250 && idleMb <= 120,
      fails: false,
      values: { products, peakMb, idleMb, tookS },
    };
  });
}

function start(bench: Bench): Promise<Row> {
  return withStage(bench, 10, async (stage) => {
    const secret = stage.env['SERVICE_WEBHOOK_SECRET'] ?? '';
    const body = '{"request_id":"start","event_type":"stock_available_updated","data":{"items":[]}}';
    const headers = { 'x-service-signature': signBody(secret, Buffer.from(body)) };
    const firstAnswerMs = async (): Promise<number> => {
      const port = String(await freePort());
      const startedMs = performance.now();
      const mirror = stage.startMirror({ PORT: port });
      const isAnswered = () =>
        fetch(`http://127.0.0.1:${port}/webhooks`, { method: 'POST', headers, body }).then(
          ({ status }) => status === 204,
          () => false,
        );
      while (!(await isAnswered())) await sleep(2);
      const tookMs = performance.now() - startedMs;
      await mirror.listening();
      await mirror.end();
      return tookMs;
    };
    // The first start makes the database.
    await firstAnswerMs();
    const times: number[] = [];
    for (let i = 0; i < (bench.quick ? 3 : 9); i += 1) times.push(await firstAnswerMs());
    const medianMs = quantile(times, 0.5);
    return {
      question: 'f',
      what: 'from the start of the process to its first 204, median',
      result: `${medianMs.toFixed(0)} ms`,
      target: '≤ 400 ms',
      met: medianMs <= 400,
      fails: false,
      values: { medianMs, slowestMs: Math.max(...times) },
    };
  });
}

/** Mirrors of several stores, each with a simulated store whose stock does not change. */
async function instances(bench: Bench): Promise<Row> {
  const windowMs = bench.quick ? 10_000 : 60_000;
  const cost = async (count: number) => {
    const stores: Sandbox[] = [];
    const mirrors: Server[] = [];
    try {
      for (let i = 0; i < count; i += 1) {
        const store = await startSandbox({ products: 1_000 });
        stores.push(store);
        const env = {
          SERVICE_BASE_URL: store.baseUrl,
          SERVICE_CLIENT_ID: store.clientId,
          SERVICE_CLIENT_SECRET: store.clientSecret,
          SERVICE_WEBHOOK_SECRET: store.webhookSecret,
          SERVICE_MAX_RPS: '1000',
          DATABASE_PATH: join(bench.folder, `${count}-${i}.db`),
          PORT: '0',
          OPS_PORT: '0',
        };
        const mirror = new Server(MIRROR, env, bench.folder);
        mirrors.push(mirror);
        await untilLive(mirror, store.webhookSecret);
      }
      await sleep(windowMs / 2);
      const sum = (of: (mirror: Server) => number): number =>
        mirrors.reduce((total, mirror) => total + of(mirror), 0);
      const usedMs = sum((mirror) => mirror.processorMs());
      await sleep(windowMs);
      return {
        [`rssMb${count}`]: sum((mirror) => mirror.memoryMb('now')) / count,
        [`pssMb${count}`]: sum((mirror) => mirror.proportionalMb()) / count,
        [`percent${count}`]: (100 * (sum((mirror) => mirror.processorMs()) - usedMs)) / windowMs,
      };
    } finally {
      await Promise.all(mirrors.map((mirror) => mirror.end()));
      await Promise.all(stores.map((store) => store.stop()));
    }
  };
  const counts = bench.quick ? [1, 3] : [1, 10, 30];
  const values: Record<string, number> = {};
  for (const count of counts) Object.assign(values, await cost(count));
  const shown = (name: string): string =>
    counts.map((count) => (values[name + String(count)] ?? NaN).toFixed(1)).join(', ');
  const each = Math.max(...counts.map((count) => values[`pssMb${count}`] ?? NaN));
  return {
    question: 'g',
    what: `${counts.join(', ')} idle instances of 1,000 products: memory of each; processor of all`,
    result: `PSS ${shown('pssMb')} MB, RSS ${shown('rssMb')} MB; ${shown('percent')} % of a core`,
    target: '≤ 120 MB each',
    met: each <= 120,
    fails: false,
    values,
  };
}

export const QUESTIONS: Readonly<Record<string, { title: string; ask: (bench: Bench) => Promise<Row> }>> = {
  a: { title: 'deliveries answered per second in a burst', ask: burst },
  b: { title: 'answer times during full resyncs', ask: latency },
  c: { title: 'from a change to its visible row', ask: visible },
  d: { title: 'cost of an answer by the size of the mirror', ask: size },
  e: { title: 'memory of a first read, and idle', ask: memory },
  f: { title: 'from start to the first answer', ask: start },
  g: { title: 'memory and processor of several idle instances', ask: instances },
};
