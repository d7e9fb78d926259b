/** (d) Products read and merged per second, against a bare loop of the same requests. */
import { join } from 'node:path';
import { present } from '../../../test/shared/present.ts';
import type { Bench, Part } from '../bench.ts';
import type { Child } from '../child.ts';
import { median } from '../distribution.ts';
import { FetchLoop } from '../fetch-loop.ts';
import { atLeast, type Row } from '../row.ts';
import { resync } from '../run.ts';
import { startSynced } from '../synced.ts';
import { environmentOf, Upstream } from '../upstream.ts';

const CONCURRENCY = 8;
const LATENCIES_MS = [0, 10, 50];
const RUN_WITHIN_MS = 120_000;
/** The slower the store, the fewer rounds are needed, and the more each costs. */
const ROUNDS: Readonly<Record<number, number>> = { 0: 5, 10: 3, 50: 1 };

async function run({ quick, folder, say }: Bench): Promise<Row[]> {
  const upstream = new Upstream();
  const loop = new FetchLoop();
  let mirror: Child | null = null;
  try {
    const products = quick ? 300 : 1_200;
    const service = await upstream.ask('serve', { products, latencyMs: 0 });
    const env = {
      ...environmentOf(service, join(folder, 'reads.db')),
      SERVICE_MAX_CONCURRENCY: String(CONCURRENCY),
    };
    const synced = await startSynced(env, folder, service.products);
    ({ mirror } = synced);
    // One of each that does not count: compiled code, open connections, AIMD at its ceiling.
    await loop.perSecond({ service, concurrency: CONCURRENCY });
    await resync(synced.at, RUN_WITHIN_MS);

    const rows: Row[] = [];
    for (const latencyMs of LATENCIES_MS) {
      await upstream.ask('serve', { products, latencyMs });
      const rounds = quick ? 1 : present(ROUNDS[latencyMs]);
      const found: { readonly bare: number; readonly merged: number; readonly cpuUs: number }[] = [];
      for (let round = 1; round <= rounds; round += 1) {
        say(`${latencyMs} ms of latency, round ${round} of ${rounds}`);
        const bare = await loop.perSecond({ service, concurrency: CONCURRENCY });
        const beforeMs = mirror.cpuMs();
        const { tookMs, done } = await resync(synced.at, RUN_WITHIN_MS);
        const cpuUs = ((mirror.cpuMs() - beforeMs) * 1_000) / done;
        found.push({ bare, merged: (done * 1_000) / tookMs, cpuUs });
      }
      rows.push(rowOf(latencyMs, rounds, products, found));
    }
    return rows;
  } finally {
    await Promise.all([mirror?.end(), loop.end(), upstream.end()]);
  }
}

function rowOf(
  latencyMs: number,
  rounds: number,
  products: number,
  found: readonly { readonly bare: number; readonly merged: number; readonly cpuUs: number }[],
): Row {
  const ratio = median(found.map(({ bare, merged }) => merged / bare));
  const perSecond = median(found.map(({ merged }) => merged));
  const barePerSecond = median(found.map(({ bare }) => bare));
  const cpuUs = median(found.map((pair) => pair.cpuUs));
  return {
    part: 'd',
    what: `products read and merged a second, ${latencyMs} ms of latency`,
    ours: `${perSecond.toFixed(0)}/s, ${cpuUs.toFixed(0)} µs of CPU each`,
    against: `${barePerSecond.toFixed(0)}/s fetched, not looked at`,
    ratio,
    target: atLeast(ratio, 0.9, 0.1),
    figures: {
      latencyMs,
      perSecond,
      barePerSecond,
      ratio,
      cpuUs,
      rounds,
      products,
      concurrency: CONCURRENCY,
    },
  };
}

export const reads: Part = {
  id: 'd',
  title: 'products read per second',
  pace: 'tolerant',
  run,
};
