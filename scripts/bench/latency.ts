/** Answer times at a steady rate, against a server that only verifies, in alternating rounds. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { atRate, ms, PER_SECOND, PRODUCTS, quantile, withStage, type Bench, type Row } from './question.ts';
import { BASELINE } from './server.ts';
import type { Stage } from './stage.ts';

/** Slow enough that two busy processes leave room for it. */
const SLOW_PER_SECOND = 500;
const ROUNDS = 3;
const ALLOWED_RATIO = 3;

export function duringResyncs(bench: Bench): Promise<Row> {
  return withStages(bench, async ({ ours, bare, seconds }) => {
    const { bareMs, oursMs } = await inRounds(
      () => answersOf(bare, seconds, PER_SECOND),
      () => answersDuringResyncs(ours, seconds, PER_SECOND),
    );
    const { p50, p99, p999, max, ratio } = compare(oursMs, bareMs);
    return {
      what:
        `answers at ${PER_SECOND}/s during full resyncs: p50, p99, p99.9, max; ` +
        'p99.9 against a server that only verifies',
      result: `${[p50, p99, p999, max].map(ms).join(', ')}; ${ratio.toFixed(2)}`,
      target: `≤ ${ALLOWED_RATIO}`,
      met: ratio <= ALLOWED_RATIO,
    };
  });
}

export function besideOthers(bench: Bench): Promise<Row> {
  const count = cpus().length;
  return withStages(bench, async ({ ours, bare, seconds }) => {
    const endBusy = startBusyProcesses(count);
    try {
      const { bareMs, oursMs } = await inRounds(
        () => answersOf(bare, seconds, SLOW_PER_SECOND),
        () => answersOf(ours, seconds, SLOW_PER_SECOND),
      );
      const { p50, p99, p999, max, ratio } = compare(oursMs, bareMs);
      const resyncMax = quantile(await answersDuringResyncs(ours, seconds, SLOW_PER_SECOND), 1);
      return {
        what:
          `answers at ${SLOW_PER_SECOND}/s beside ${count} busy processes: p50, p99, p99.9, max; ` +
          'p99.9 against a server that only verifies; the slowest answer during full resyncs',
        result: `${[p50, p99, p999, max].map(ms).join(', ')}; ${ratio.toFixed(2)}; ${ms(resyncMax)}`,
        target: `≤ ${ALLOWED_RATIO}; ≤ 1 s`,
        met: ratio <= ALLOWED_RATIO && resyncMax <= 1_000,
      };
    } finally {
      await endBusy();
    }
  });
}

interface Stages {
  readonly ours: Stage;
  /** Its server only verifies. Another store, so that no delivery to it is missing in the mirror of `ours`. */
  readonly bare: Stage;
  /** The length of a round. */
  readonly seconds: number;
}

function withStages(bench: Bench, measure: (stages: Stages) => Promise<Row>): Promise<Row> {
  return withStage(bench, PRODUCTS, (ours) =>
    withStage(bench, PRODUCTS, async (bare) => {
      bare.startServer(BASELINE);
      await ours.startSynced();
      for (const stage of [bare, ours]) await answersOf(stage, 3, PER_SECOND);
      return measure({ ours, bare, seconds: bench.quick ? 3 : 10 });
    }),
  );
}

async function inRounds(bare: () => Promise<number[]>, ours: () => Promise<number[]>) {
  const bareMs: number[] = [];
  const oursMs: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    bareMs.push(...(await bare()));
    oursMs.push(...(await ours()));
  }
  return { bareMs, oursMs };
}

async function answersOf(stage: Stage, seconds: number, perSecond: number): Promise<number[]> {
  const { sent } = await atRate(stage, seconds, perSecond);
  const { answerMs, refused } = await sent;
  if (refused > 0) throw new Error(`${refused} deliveries were answered 503`);
  return [...answerMs];
}

function compare(oursMs: readonly number[], bareMs: readonly number[]) {
  const p999 = quantile(oursMs, 0.999);
  return {
    p50: quantile(oursMs, 0.5),
    p99: quantile(oursMs, 0.99),
    p999,
    max: quantile(oursMs, 1),
    ratio: p999 / quantile(bareMs, 0.999),
  };
}

async function answersDuringResyncs(stage: Stage, seconds: number, perSecond: number): Promise<number[]> {
  const { ops } = await stage.mirror.listening();
  const ending = new AbortController();
  const resyncs = (async () => {
    while (!ending.signal.aborted) {
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch(`${ops}api/resync`, { method: 'POST', headers, body: '{}' });
      await answer.arrayBuffer();
      if (!answer.ok) throw new Error(`a resync was answered ${answer.status}`);
      await sleep(500);
    }
  })();
  const answersMs = await answersOf(stage, seconds, perSecond).finally(() => ending.abort());
  await resyncs;
  return answersMs;
}

/** @returns a function that ends them. */
function startBusyProcesses(count: number): () => Promise<unknown> {
  const busy = Array.from({ length: count }, () => spawn(process.execPath, ['-e', 'for (;;);']));
  return () =>
    Promise.all(
      busy.map((each) => {
        const ended = once(each, 'exit');
        each.kill('SIGKILL');
        return ended;
      }),
    );
}
