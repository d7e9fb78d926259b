/** (f) From a change in the store to the row that a consumer can read, under a steady load. */
import { join } from 'node:path';
import { picture } from '../distribution.ts';
import type { Bench, Part } from '../bench.ts';
import { beside, unlessRefused, type Row } from '../row.ts';
import { startSynced } from '../synced.ts';
import { environmentOf, Upstream } from '../upstream.ts';

const PER_SECOND = 2_000;
const CONNECTIONS = 256;
const PRODUCTS = 2_000;
const TARGET_MS = 100;

async function run({ quick, folder, append }: Bench): Promise<Row[]> {
  const count = PER_SECOND * (quick ? 3 : 15);
  const upstream = new Upstream();
  try {
    const service = await upstream.ask('serve', { products: PRODUCTS, latencyMs: 0 });
    const path = join(folder, 'visible.db');
    const { mirror, at } = await startSynced(environmentOf(service, path), folder, service.products);
    try {
      const everyMs = 1_000 / PER_SECOND;
      const startMs = Date.now() + 500;
      await upstream.ask('prepare', { count, secret: service.webhookSecret, startMs, everyMs });
      const { visible, refused } = await upstream.ask('send', {
        ...{ url: at.webhookUrl, connections: CONNECTIONS, perSecond: PER_SECOND, isTrue: true },
        watch: path,
      });
      if (visible === null) throw new Error('nothing was watched');
      const { p50Ms, p99Ms, maxMs } = visible;
      append([`from change to row at ${PER_SECOND}/s`, ...picture(visible), '']);
      const told = [p50Ms, p99Ms, maxMs].map((ms) => ms.toFixed(1)).join(' / ');
      return [
        {
          part: 'f',
          what: `from change to visible row at ${PER_SECOND}/s: p50, p99, max`,
          ours: beside(refused, `${told} ms`),
          against: null,
          ratio: null,
          target: unlessRefused(refused, {
            text: `p99 ≤ ${TARGET_MS} ms`,
            met: p99Ms <= TARGET_MS,
            farOff: false,
          }),
          figures: { p50Ms, p99Ms, maxMs, refused },
        },
      ];
    } finally {
      await mirror.end();
    }
  } finally {
    await upstream.end();
  }
}

export const visible: Part = { id: 'f', title: 'time from a change to its row', run };
