/** (b) Answer times under a steady load, while the catalogue is read whole and another program scans the mirror. */
import { join } from 'node:path';
import type { Bench, Part } from '../bench.ts';
import { Child } from '../child.ts';
import { picture, type Distribution } from '../distribution.ts';
import { beside, unlessRefused, type Row } from '../row.ts';
import { startSynced } from '../synced.ts';
import { environmentOf, Upstream } from '../upstream.ts';

const RATES = [500, 2_000, 5_000];
const TARGET_RATE = 2_000;
const PRODUCTS = 2_000;
const CONNECTIONS = 256;
/** The default ceiling. */
const READS_PER_SECOND = 50;
const SCANNED_ROWS = 1_000_000;

async function run({ quick, folder, say, append }: Bench): Promise<Row[]> {
  const seconds = quick ? 3 : 6;
  const upstream = new Upstream();
  const children: Child[] = [];
  let resyncing: NodeJS.Timeout | undefined;
  try {
    const service = await upstream.ask('serve', { products: PRODUCTS, latencyMs: 0 });
    const path = join(folder, 'latency.db');
    const first = await startSynced(environmentOf(service, path), folder, service.products);
    // The first read is over: from here on at a pace that a store would allow.
    await first.mirror.end();
    const env = { ...environmentOf(service, path), SERVICE_MAX_RPS: String(READS_PER_SECOND) };
    const { mirror, at } = await startSynced(env, folder, service.products);
    children.push(mirror);
    const baseline = new Child('baseline-server.ts', [service.webhookSecret], {}, folder);
    children.push(baseline);
    const { webhookUrl: baselineUrl } = await baseline.listening();

    const measure = async (url: string, perSecond: number, isTrue: boolean): Promise<Measured> => {
      const count = perSecond * seconds;
      // Dated as they will be sent, so that reads and deliveries tell one story.
      const startMs = Date.now() + 500;
      await upstream.ask('prepare', {
        ...{ count, startMs, everyMs: 1_000 / perSecond },
        secret: service.webhookSecret,
      });
      const { answers, refused } = await upstream.ask('send', {
        ...{ url, connections: CONNECTIONS, perSecond, isTrue },
      });
      return { answers, refused };
    };
    const rows: Row[] = [];
    for (const perSecond of RATES) {
      say(`${perSecond}/s, the bare server`);
      const bare = await measure(baselineUrl, perSecond, false);
      const scan = new Child('scan-process.ts', [path, String(SCANNED_ROWS)], {}, folder);
      children.push(scan);
      await scan.listening();
      const resync = (): void => {
        // While one is under way this joins it.
        void fetch(`${at.opsUrl}api/resync`, { method: 'POST', body: '{}', headers: JSON_TYPE }).catch(
          () => null,
        );
      };
      resync();
      resyncing = setInterval(resync, 1_000);
      say(`${perSecond}/s, the mirror`);
      const ours = await measure(at.webhookUrl, perSecond, true);
      clearInterval(resyncing);
      await scan.end('SIGKILL');
      rows.push(rowOf(perSecond, ours, bare.answers));
      append([`answer times at ${perSecond}/s`, ...picture(ours.answers), '']);
    }
    return rows;
  } finally {
    clearInterval(resyncing);
    await Promise.all([...children, upstream].map((child) => child.end()));
  }
}

const JSON_TYPE = { 'content-type': 'application/json' };

interface Measured {
  readonly answers: Distribution;
  readonly refused: number;
}

function rowOf(perSecond: number, { answers, refused }: Measured, bare: Distribution): Row {
  const { p50Ms, p99Ms, p999Ms, maxMs } = answers;
  // A second is promised at any rate, the percentile at this one.
  const isQuick = perSecond !== TARGET_RATE || p999Ms <= 50;
  return {
    part: 'b',
    what: `answers at ${perSecond}/s beside a resync and a scan: p50, p99, p99.9, max`,
    ours: beside(refused, told(answers)),
    against: `${told(bare)} by the bare server`,
    ratio: null,
    target: unlessRefused(refused, {
      text: perSecond === TARGET_RATE ? 'p99.9 ≤ 50 ms, max < 1 s' : 'max < 1 s',
      met: isQuick && maxMs < 1_000,
      farOff: false,
    }),
    figures: {
      perSecond,
      p50Ms,
      p99Ms,
      p999Ms,
      maxMs,
      refused,
      bareP999Ms: bare.p999Ms,
      bareMaxMs: bare.maxMs,
    },
  };
}

function told({ p50Ms, p99Ms, p999Ms, maxMs }: Distribution): string {
  return `${[p50Ms, p99Ms, p999Ms, maxMs].map((ms) => ms.toFixed(1)).join(' / ')} ms`;
}

export const latency: Part = { id: 'b', title: 'answer times under load', run };
