/** (c) What a delivery costs when much is in the database already. */
import { present } from '../../../test/shared/present.ts';
import type { Bench, Part } from '../bench.ts';
import type { Child, Listening } from '../child.ts';
import { median } from '../distribution.ts';
import { untilApplied } from '../equal.ts';
import { filledDatabase, FILLED_SECRET, idle, startFilled, stoppedJustNow } from '../filled.ts';
import { footprintOf, type Footprint } from '../footprint.ts';
import { atMost, beside, unlessRefused, type Row } from '../row.ts';
import { Upstream } from '../upstream.ts';

const SMALL = 10_000;
const LARGER = 1_000_000;
const LARGEST = 10_000_000;

const CONNECTIONS = 256;
/** To warm up with: what has not run yet is slow. */
const FEW_CONNECTIONS = 16;
/**
 * Apart enough that two deliveries about one stock level, on two connections, are hardly ever of the same instant.
 */
const EVERY_MS = 1;
/** What a round leaves to apply is part of what a delivery costs. */
const APPLIED_WITHIN_MS = 120_000;

interface Sized {
  readonly levels: number;
  readonly path: string;
  readonly mirror: Child;
  readonly upstream: Upstream;
  readonly at: Listening;
  readonly rounds: Measured[];
}

/** Of what was stored. */
interface Measured {
  /** Processor time until the answer, and of the thread that applies. */
  readonly answeringUs: number;
  readonly applyingUs: number;
  readonly writtenKb: number;
  readonly refused: number;
}

async function run(bench: Bench): Promise<Row[]> {
  const { quick, say } = bench;
  const sizes = quick ? [SMALL, LARGER] : [SMALL, LARGER, LARGEST];
  const rounds = quick ? 2 : 3;
  const perRound = quick ? 2_000 : 5_000;
  const started: Sized[] = [];
  try {
    // Side by side: filling them takes longer than all that is measured.
    const starts = await Promise.allSettled(sizes.map((levels) => start(bench, levels)));
    for (const one of starts) if (one.status === 'fulfilled') started.push(one.value);
    for (const one of starts) if (one.status === 'rejected') throw one.reason;
    const filled = footprintOf(present(started[0]).path);
    for (const sized of started) await measure(sized, perRound, FEW_CONNECTIONS);
    for (let round = 1; round <= rounds; round += 1) {
      say(`round ${round} of ${rounds}`);
      for (const sized of started) sized.rounds.push(await measure(sized, perRound, CONNECTIONS));
    }
    return [...costRows(started, perRound), ...fileRows(filled, footprintOf(present(started[0]).path))];
  } finally {
    await Promise.all(started.flatMap(({ mirror, upstream }) => [mirror.end(), upstream.end()]));
  }
}

async function start(bench: Bench, levels: number): Promise<Sized> {
  const path = await filledDatabase(bench, levels);
  stoppedJustNow(path);
  const mirror = await startFilled(path, bench.folder);
  const upstream = new Upstream();
  try {
    const at = await idle(mirror, path);
    await upstream.ask('fill', { levels });
    return { levels, path, mirror, upstream, at, rounds: [] };
  } catch (error) {
    await Promise.all([mirror.end(), upstream.end()]);
    throw error;
  }
}

async function measure(
  { mirror, upstream, at }: Sized,
  count: number,
  connections: number,
): Promise<Measured> {
  const startMs = Date.now() - count * EVERY_MS;
  await upstream.ask('prepare', { count, secret: FILLED_SECRET, startMs, everyMs: EVERY_MS });
  const before = mirror.cpu();
  const beforeBytes = mirror.writtenBytes();
  const { refused } = await upstream.ask('send', {
    url: at.webhookUrl,
    connections,
    perSecond: null,
    isTrue: true,
  });
  const stored = count - refused;
  await untilApplied(at, APPLIED_WITHIN_MS);
  const after = mirror.cpu();
  const applyingMs = after.yieldingMs - before.yieldingMs;
  return {
    answeringUs: ((after.allMs - before.allMs - applyingMs) * 1_000) / stored,
    applyingUs: (applyingMs * 1_000) / stored,
    writtenKb: (mirror.writtenBytes() - beforeBytes) / stored / 1_000,
    refused,
  };
}

function costRows([small, ...others]: readonly Sized[], perRound: number): Row[] {
  return others.flatMap(({ levels, rounds }, i) => {
    const refused = [...present(small).rounds, ...rounds].reduce((sum, round) => sum + round.refused, 0);
    const row = (
      what: string,
      unit: string,
      figure: (measured: Measured) => number,
      atMostTimes: number | null,
    ): Row => {
      const ours = median(rounds.map(figure));
      const against = median(present(small).rounds.map(figure));
      const ratio = median(rounds.map((round, k) => figure(round) / figure(present(small?.rounds[k]))));
      return {
        part: 'c',
        what: `${what} of a delivery, ${short(levels)} levels`,
        ours: beside(refused, `${ours.toFixed(0)} ${unit}`),
        against: `${against.toFixed(0)} ${unit} with ${short(present(small).levels)}`,
        ratio,
        target:
          atMostTimes !== null && i === others.length - 1
            ? unlessRefused(refused, atMost(ratio, atMostTimes))
            : null,
        figures: { ours, against, ratio, refused, levels, rounds: rounds.length, perRound },
      };
    };
    return [
      row('processor for the answer', 'µs', ({ answeringUs }) => answeringUs, 1.1),
      row('processor for applying', 'µs', ({ applyingUs }) => applyingUs, 2),
      row('writes to files and checkpoints', 'kB', ({ writtenKb }) => writtenKb, null),
    ];
  });
}

/** @param filled as a first read leaves it. @param after when deliveries have come to it. */
function fileRows(filled: Footprint, after: Footprint): Row[] {
  const row = (what: string, bytes: number): Row => ({
    part: 'c',
    what,
    ours: `${bytes.toFixed(0)} bytes`,
    against: null,
    ratio: null,
    target: null,
    figures: { bytes },
  });
  const { stock_levels: levels, variants, products, product_stock_levels: productStockLevels } = filled;
  const grown = (table: 'changes' | 'log'): number =>
    (after[table].bytes - filled[table].bytes) / (after[table].rows - filled[table].rows);
  const stock = [levels, variants, products, productStockLevels].reduce((sum, { bytes }) => sum + bytes, 0);
  return [
    row('file for a stock level, with its share of variant and product', stock / levels.rows),
    row('file for a change of the feed', grown('changes')),
    row('file for a delivery in the log', grown('log')),
  ];
}

function short(levels: number): string {
  return levels >= 1_000_000 ? `${levels / 1_000_000} M` : `${levels / 1_000} k`;
}

export const size: Part = {
  id: 'c',
  title: 'cost of a delivery by the size of the database',
  run,
  pace: 'tolerant',
};
