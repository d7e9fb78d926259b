/** (e) Memory and time of a first read of a large catalogue. */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench, Part } from '../bench.ts';
import { Child } from '../child.ts';
import { LEAN_LEVELS_A_PRODUCT, LEAN_VARIANTS_A_PRODUCT } from '../lean-catalogue.ts';
import { startMirror } from '../mirror.ts';
import { below, type Row } from '../row.ts';
import { untilEnded } from '../run.ts';
import { environmentOf } from '../upstream.ts';

const PRODUCTS = 100_000;
const QUICK_PRODUCTS = 5_000;
/** A busy machine takes its time, and the figure is the memory. */
const RUN_WITHIN_MS = 900_000;
const MEGABYTE = 1_000_000;
const WANTED_MB = 250;

async function run({ quick, folder, say }: Bench): Promise<Row[]> {
  const products = quick ? QUICK_PRODUCTS : PRODUCTS;
  const service = new Child('lean-service.ts', [String(products)], {}, folder);
  let mirror: Child | null = null;
  try {
    const { webhookUrl: baseUrl } = await service.listening();
    const credentials = { clientId: 'bench', clientSecret: 'bench', webhookSecret: 'bench' };
    const env = environmentOf({ baseUrl, ...credentials }, join(folder, 'first-sync.db'));
    mirror = startMirror(env, folder);
    const at = await mirror.listening();
    const idleBytes = mirror.peakBytes();
    say(`${products} products`);
    const { tookMs, done } = await untilEnded(at, 1, RUN_WITHIN_MS);
    // What follows the last answer, such as the state's figures, is part of it.
    await sleep(1_000);
    const peakMb = mirror.peakBytes() / MEGABYTE;
    const cpuUs = (mirror.cpuMs() * 1_000) / done;
    const variants = done * LEAN_VARIANTS_A_PRODUCT;
    const levels = done * LEAN_LEVELS_A_PRODUCT;
    return [
      {
        part: 'e',
        what: `memory at its peak, first read of ${thousands(done)} products, ${thousands(variants)} variants, ${thousands(levels)} levels`,
        ours: `${peakMb.toFixed(0)} MB; ${(tookMs / 1_000).toFixed(1)} s, ${((done * 1_000) / tookMs).toFixed(0)}/s, ${cpuUs.toFixed(0)} µs of CPU each`,
        against: `${(idleBytes / MEGABYTE).toFixed(0)} MB when it listened`,
        ratio: null,
        target: quick ? null : below(peakMb, WANTED_MB, 'MB'),
        figures: { peakMb, idleMb: idleBytes / MEGABYTE, tookMs, cpuUs, products: done, variants, levels },
      },
    ];
  } finally {
    await Promise.all([mirror?.end(), service.end()]);
  }
}

function thousands(count: number): string {
  return count % 1_000 === 0 ? `${count / 1_000} k` : String(count);
}

export const firstSync: Part = {
  id: 'e',
  title: 'memory through the first read of a large catalogue',
  pace: 'tolerant',
  run,
};
