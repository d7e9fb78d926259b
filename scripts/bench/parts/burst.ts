/**
 * (a) Deliveries answered per second in a burst, against the same server that only verifies and answers; and how long
 * it takes until all of them are applied.
 */
import { join } from 'node:path';
import type { Bench, Part } from '../bench.ts';
import { Child } from '../child.ts';
import { untilEqual } from '../equal.ts';
import { atLeast, below, beside, unlessRefused, type Row } from '../row.ts';
import { environmentOf, Upstream } from '../upstream.ts';
import { startSynced } from '../synced.ts';

const CONNECTIONS = 256;
/** About ten thousand stock levels. */
const PRODUCTS = 2_000;
/** How far apart their update times are: those of one round come after those of the one before it. */
const EVERY_MS = 0.1;
/** Longer than any that is worth measuring. */
const EQUAL_WITHIN_MS = 120_000;
/** To warm up with, and to learn how many a burst takes. */
const WARM_UP = 8_000;

async function run({ quick, folder, say }: Bench): Promise<Row[]> {
  const seconds = quick ? 4 : 30;
  const upstream = new Upstream();
  const children: Child[] = [];
  try {
    const service = await upstream.ask('serve', { products: PRODUCTS, latencyMs: 0 });
    const path = join(folder, 'burst.db');
    const { mirror, at } = await startSynced(environmentOf(service, path), folder, service.products);
    children.push(mirror);
    const baseline = new Child('programs/baseline-server.ts', [service.webhookSecret], {}, folder);
    children.push(baseline);
    const { webhookUrl: baselineUrl } = await baseline.listening();

    const prepare = (count: number) =>
      upstream.ask('prepare', {
        ...{ count, secret: service.webhookSecret, startMs: Date.now() - count * EVERY_MS },
        everyMs: EVERY_MS,
      });
    const bare = () => measure(upstream, baseline, { url: baselineUrl, isTrue: false });
    const durable = () => measure(upstream, mirror, { url: at.webhookUrl, isTrue: true });
    const equal = () => untilEqual(upstream, at, path, EQUAL_WITHIN_MS);
    await prepare(WARM_UP);
    await bare();
    await durable();
    await equal();
    await prepare(WARM_UP);
    const { perSecond } = await durable();
    await equal();
    await prepare(Math.round(perSecond * seconds));
    // The same requests, so that both have the same work before them; before and after, as the machine's speed varies.
    say('the bare server');
    const before = await bare();
    say(`a burst of ${seconds} s`);
    const burst = await durable();
    const leftMs = await equal();
    say('the bare server again');
    const after = await bare();

    const bareRate = (before.perSecond + after.perSecond) / 2;
    const bareCpuUs = (before.cpuUs + after.cpuUs) / 2;
    const ratio = burst.perSecond / bareRate;
    const { refused } = burst;
    return [
      {
        part: 'a',
        what: `deliveries answered a second in a burst of ${burst.seconds.toFixed(0)} s, ${CONNECTIONS} connections`,
        ours: beside(
          refused,
          `${burst.perSecond.toFixed(0)}/s, ${burst.answeringCpuUs.toFixed(0)} µs of CPU each, and ${burst.applyingCpuUs.toFixed(0)} µs for applying`,
        ),
        against: `${bareRate.toFixed(0)}/s answered without a store, ${bareCpuUs.toFixed(0)} µs`,
        ratio,
        target: unlessRefused(refused, atLeast(ratio, 0.6, 0.15)),
        figures: { ...burst, baselinePerSecond: bareRate, baselineCpuUs: bareCpuUs, ratio },
      },
      {
        part: 'a',
        what: 'until what the burst left is applied, and equal to the truth',
        ours: `${(leftMs / 1_000).toFixed(1)} s after its end`,
        against: null,
        ratio: leftMs / 1_000 / burst.seconds,
        target: below(leftMs / 1_000 / burst.seconds, 2, 'of its length'),
        figures: { leftMs },
      },
    ];
  } finally {
    await Promise.all([...children, upstream].map((child) => child.end()));
  }
}

interface Measured {
  readonly seconds: number;
  /** Of those that were stored. */
  readonly perSecond: number;
  readonly cpuUs: number;
  /** Of these, the thread that yields to the others; and the others. */
  readonly applyingCpuUs: number;
  readonly answeringCpuUs: number;
  readonly refused: number;
}

async function measure(
  upstream: Upstream,
  server: Child,
  to: { readonly url: string; readonly isTrue: boolean },
): Promise<Measured> {
  const before = server.cpu();
  const { tookMs, refused, answers } = await upstream.ask('send', {
    ...{ ...to, connections: CONNECTIONS, perSecond: null },
  });
  const after = server.cpu();
  const stored = answers.count;
  const each = (ms: number): number => (ms * 1_000) / stored;
  const applyingCpuUs = each(after.yieldingMs - before.yieldingMs);
  const cpuUs = each(after.allMs - before.allMs);
  return {
    seconds: tookMs / 1_000,
    perSecond: (stored * 1_000) / tookMs,
    cpuUs,
    applyingCpuUs,
    answeringCpuUs: cpuUs - applyingCpuUs,
    refused,
  };
}

export const burst: Part = { id: 'a', title: 'deliveries answered per second in a burst', run };
