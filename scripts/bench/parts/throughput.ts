/** (a) Durable deliveries per second, against the same server that only verifies and answers. */
import { join } from 'node:path';
import type { Bench, Part } from '../bench.ts';
import { Child } from '../child.ts';
import { median } from '../distribution.ts';
import { atLeast, beside, unlessRefused, type Row } from '../row.ts';
import { environmentOf, Upstream } from '../upstream.ts';
import { startSynced } from '../synced.ts';

const CONNECTIONS = 256;
/** About ten thousand stock levels. */
const PRODUCTS = 2_000;
/** How far apart their update times are: those of one round come after those of the one before it. */
const EVERY_MS = 0.1;

async function run({ quick, folder, say }: Bench): Promise<Row[]> {
  const rounds = quick ? 3 : 5;
  const perRound = quick ? 4_000 : 12_000;
  const upstream = new Upstream();
  const children: Child[] = [];
  try {
    const service = await upstream.ask('serve', { products: PRODUCTS, latencyMs: 0 });
    const env = environmentOf(service, join(folder, 'throughput.db'));
    const { mirror, at } = await startSynced(env, folder, service.products);
    children.push(mirror);
    const baseline = new Child('baseline-server.ts', [service.webhookSecret], {}, folder);
    children.push(baseline);
    const { webhookUrl: baselineUrl } = await baseline.listening();

    const found: { mirror: Measured; baseline: Measured }[] = [];
    // The first round warms both up, and is not counted.
    for (let round = 0; round <= rounds; round += 1) {
      say(`round ${round} of ${rounds}`);
      const startMs = Date.now() - perRound * EVERY_MS;
      const recipe = { count: perRound, secret: service.webhookSecret, startMs, everyMs: EVERY_MS };
      await upstream.ask('prepare', recipe);
      const bare = await measure(upstream, baseline, baselineUrl, perRound, false);
      // The same requests, so that both have the same work before them.
      const durable = await measure(upstream, mirror, at.webhookUrl, perRound, true);
      if (round > 0) found.push({ mirror: durable, baseline: bare });
    }
    const rate = (who: 'mirror' | 'baseline') => median(found.map((pair) => pair[who].perSecond));
    const cpu = (who: 'mirror' | 'baseline') => median(found.map((pair) => pair[who].cpuUs));
    const ratio = median(found.map((pair) => pair.mirror.perSecond / pair.baseline.perSecond));
    const refused = found.reduce((sum, { mirror: { refused } }) => sum + refused, 0);
    return [
      {
        part: 'a',
        what: `durable deliveries a second, ${CONNECTIONS} connections`,
        ours: beside(refused, `${rate('mirror').toFixed(0)}/s, ${cpu('mirror').toFixed(0)} µs of CPU each`),
        against: `${rate('baseline').toFixed(0)}/s answered without a store, ${cpu('baseline').toFixed(0)} µs`,
        ratio,
        target: unlessRefused(refused, atLeast(ratio, 0.6, 0.15)),
        figures: {
          perSecond: rate('mirror'),
          baselinePerSecond: rate('baseline'),
          ratio,
          cpuUs: cpu('mirror'),
          baselineCpuUs: cpu('baseline'),
          refused,
          rounds,
          perRound,
          cells: service.cells,
        },
      },
    ];
  } finally {
    await Promise.all([...children, upstream].map((child) => child.end()));
  }
}

/** Of what was stored. */
interface Measured {
  readonly perSecond: number;
  readonly cpuUs: number;
  readonly refused: number;
}

async function measure(
  upstream: Upstream,
  server: Child,
  url: string,
  count: number,
  isTrue: boolean,
): Promise<Measured> {
  const beforeMs = server.cpuMs();
  const { tookMs, refused } = await upstream.ask('send', {
    url,
    connections: CONNECTIONS,
    perSecond: null,
    isTrue,
  });
  const stored = count - refused;
  return {
    perSecond: (stored * 1_000) / tookMs,
    cpuUs: ((server.cpuMs() - beforeMs) * 1_000) / stored,
    refused,
  };
}

export const throughput: Part = { id: 'a', title: 'durable deliveries per second', run };
