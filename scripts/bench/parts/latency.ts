/**
 * (b) Answer times under a steady load, while the catalogue is read whole, a product of 6,000 levels is read every
 * second, and another program scans the mirror and then holds its write lock.
 */
import { join } from 'node:path';
import type { Bench, Part } from '../bench.ts';
import { Child } from '../child.ts';
import { picture, type Distribution } from '../distribution.ts';
import { untilEqual } from '../equal.ts';
import { below, beside, unlessRefused, type Row } from '../row.ts';
import { startSynced } from '../synced.ts';
import { environmentOf, Upstream } from '../upstream.ts';

const PER_SECOND = 2_000;
const PRODUCTS = 2_000;
const CONNECTIONS = 256;
/** The default ceiling. */
const READS_PER_SECOND = 50;
const SCANNED_ROWS = 1_000_000;
const LARGE = { variants: 1_200, warehouses: 5 };
const EVERY_MS = 1_000;
const EQUAL_WITHIN_MS = 60_000;

async function run({ quick, folder, say, append }: Bench): Promise<Row[]> {
  const lockMs = quick ? 2_000 : 10_000;
  const scanMs = lockMs;
  const seconds = (scanMs + lockMs) / 1_000 + 4;
  const upstream = new Upstream();
  const children: Child[] = [];
  let reading: NodeJS.Timeout | undefined;
  try {
    const service = await upstream.ask('serve', { products: PRODUCTS, latencyMs: 0 });
    const path = join(folder, 'latency.db');
    const first = await startSynced(environmentOf(service, path), folder, service.products);
    // The first read is over: from here on at a pace that a store would allow.
    await first.mirror.end();
    const env = { ...environmentOf(service, path), SERVICE_MAX_RPS: String(READS_PER_SECOND) };
    const { mirror, at } = await startSynced(env, folder, service.products);
    children.push(mirror);
    const baseline = new Child('programs/baseline-server.ts', [service.webhookSecret], {}, folder);
    children.push(baseline);
    const { webhookUrl: baselineUrl } = await baseline.listening();

    const measure = async (
      to: { readonly url: string; readonly isTrue: boolean },
      lengthS: number,
    ): Promise<Measured> => {
      // Dated as they will be sent, so that reads and deliveries tell one story.
      const startMs = Date.now() + 500;
      await upstream.ask('prepare', {
        ...{ count: PER_SECOND * lengthS, startMs, everyMs: 1_000 / PER_SECOND },
        secret: service.webhookSecret,
      });
      return upstream.ask('send', { ...to, connections: CONNECTIONS, perSecond: PER_SECOND });
    };
    say('the bare server');
    const bare = await measure({ url: baselineUrl, isTrue: false }, 5);
    const { productId } = await upstream.ask('grow', LARGE);
    const other = new Child(
      'programs/other-program.ts',
      [path, `${SCANNED_ROWS}`, `${scanMs}`, `${lockMs}`],
      {},
      folder,
    );
    children.push(other);
    await other.listening();
    const read = (productIds?: readonly string[]): void => {
      // While one is under way this joins it.
      void fetch(`${at.opsUrl}api/resync`, {
        method: 'POST',
        body: JSON.stringify(productIds === undefined ? {} : { product_ids: productIds }),
        headers: { 'content-type': 'application/json' },
      }).catch(() => null);
    };
    reading = setInterval(() => {
      read();
      read([productId]);
    }, EVERY_MS);
    say(`the mirror, for ${seconds} s`);
    const ours = await measure({ url: at.webhookUrl, isTrue: true }, seconds);
    clearInterval(reading);
    const leftMs = await untilEqual(upstream, at, path, EQUAL_WITHIN_MS);
    append([`answer times at ${PER_SECOND}/s`, ...picture(ours.answers), '']);
    return [answerRow(ours, bare.answers), equalRow(leftMs)];
  } finally {
    clearInterval(reading);
    await Promise.all([...children, upstream].map((child) => child.end()));
  }
}

interface Measured {
  readonly answers: Distribution;
  readonly refused: number;
}

function answerRow({ answers, refused }: Measured, bare: Distribution): Row {
  const { p50Ms, p99Ms, p999Ms, maxMs } = answers;
  return {
    part: 'b',
    what: `answers at ${PER_SECOND}/s beside reads, a scan and another program’s lock: p50, p99, p99.9, max`,
    ours: beside(refused, told(answers)),
    against: `${told(bare)} by the bare server`,
    ratio: null,
    target: unlessRefused(refused, {
      text: 'p99.9 ≤ 50 ms, max < 500 ms, none refused',
      met: p999Ms <= 50 && maxMs < 500,
      farOff: false,
    }),
    figures: {
      ...{ perSecond: PER_SECOND, p50Ms, p99Ms, p999Ms, maxMs, refused },
      ...{ bareP999Ms: bare.p999Ms, bareMaxMs: bare.maxMs },
    },
  };
}

function equalRow(leftMs: number): Row {
  return {
    part: 'b',
    what: 'until all of it is applied, and equal to the truth',
    ours: `${(leftMs / 1_000).toFixed(1)} s after its end`,
    against: null,
    ratio: null,
    target: below(leftMs / 1_000, 10, 's'),
    figures: { leftMs },
  };
}

function told({ p50Ms, p99Ms, p999Ms, maxMs }: Distribution): string {
  return `${[p50Ms, p99Ms, p999Ms, maxMs].map((ms) => ms.toFixed(1)).join(' / ')} ms`;
}

export const latency: Part = { id: 'b', title: 'answer times under load', run };
