/** Questions about memory, processor and the start of a process. */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { signBody } from '../../src/store-api/signature.ts';
import { freePort } from '../../test/shared/free-port.ts';
import { quantile, withStage, type Bench, type Row } from './question.ts';
import { MIRROR, Server } from './server.ts';
import { untilLive } from './stage.ts';

export async function memory(bench: Bench): Promise<Row> {
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
      target: '≤ 250 MB; ≤ 140 MB',
      met: peakMb <= 250 && idleMb <= 140,
      fails: false,
      values: { products, peakMb, idleMb, tookS },
    };
  });
}

export function start(bench: Bench): Promise<Row> {
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
    for (let round = 0; round < (bench.quick ? 3 : 9); round += 1) times.push(await firstAnswerMs());
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
export async function instances(bench: Bench): Promise<Row> {
  const windowMs = bench.quick ? 10_000 : 60_000;
  const cost = async (count: number) => {
    const stores: Sandbox[] = [];
    const mirrors: Server[] = [];
    try {
      for (let nth = 0; nth < count; nth += 1) {
        const store = await startSandbox({ products: 1_000 });
        stores.push(store);
        const env = {
          SERVICE_BASE_URL: store.baseUrl,
          SERVICE_CLIENT_ID: store.clientId,
          SERVICE_CLIENT_SECRET: store.clientSecret,
          SERVICE_WEBHOOK_SECRET: store.webhookSecret,
          SERVICE_MAX_RPS: '1000',
          DATABASE_PATH: join(bench.folder, `${count}-${nth}.db`),
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
