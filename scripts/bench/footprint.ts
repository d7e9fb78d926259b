/** Questions about memory, processor and the start of a process. */
import { setTimeout as sleep } from 'node:timers/promises';
import { signBody } from '../../src/store-api/signature.ts';
import { freePort } from '../../test/shared/free-port.ts';
import { atRate, PER_SECOND, PRODUCTS, quantile, withStage, type Bench, type Row } from './question.ts';

/** Ten hours at 35 deliveries a second. */
const NIGHT = 1_280_000;
const QUARTERS = 4;
/** By then, the mirror has freed what its start has left (src/platform/heap.ts). */
const COLLECTED_MS = 8_000;

export async function memory(bench: Bench): Promise<Row> {
  const products = bench.quick ? 5_000 : 100_000;
  const idleMb = await withStage(bench, 10, async (stage) => {
    const mirror = await stage.startSynced();
    await sleep(COLLECTED_MS);
    return mirror.memoryMb('now');
  });
  return withStage(bench, products, async (stage) => {
    const startedMs = performance.now();
    const mirror = await stage.startSynced();
    const tookS = (performance.now() - startedMs) / 1_000;
    const peakMb = mirror.memoryMb('peak');
    return {
      what: `memory: peak of the first read of ${products} products; idle`,
      result: `${peakMb.toFixed(0)} MB (in ${tookS.toFixed(0)} s); ${idleMb.toFixed(0)} MB`,
      target: '≤ 250 MB; ≤ 145 MB',
      met: peakMb <= 250 && idleMb <= 145,
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
      what: 'from the start of the process to its first 204, median',
      result: `${medianMs.toFixed(0)} ms`,
      target: '≤ 400 ms',
      met: medianMs <= 400,
    };
  });
}

/** Memory does not grow with the deliveries: it ends once caches and heaps are full. */
export function night(bench: Bench): Promise<Row> {
  const seconds = 10;
  const deliveries = bench.quick ? 80_000 : NIGHT;
  const rounds = deliveries / QUARTERS / (seconds * PER_SECOND);
  return withStage(bench, PRODUCTS, async (stage) => {
    const mirror = await stage.startSynced();
    const quartersMb: number[] = [];
    for (let quarter = 0; quarter < QUARTERS; quarter += 1) {
      for (let round = 0; round < rounds; round += 1) await (await atRate(stage, seconds)).sent;
      quartersMb.push(mirror.memoryMb('now'));
    }
    const [beforeMb = NaN, endMb = NaN] = quartersMb.slice(-2);
    return {
      what: `memory after each quarter of ${deliveries} deliveries at ${PER_SECOND}/s`,
      result: `${quartersMb.map((mb) => mb.toFixed(0)).join(', ')} MB`,
      target: 'the last ≤ 1.02 × the one before',
      met: endMb <= 1.02 * beforeMb,
    };
  });
}
