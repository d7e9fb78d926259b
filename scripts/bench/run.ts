/** Runs of a mirror under measurement, by its own record of them. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Listening } from './child.ts';

/** As `GET /api/runs/:id` tells it. */
interface Run {
  readonly kind: string;
  readonly state: 'running' | 'done' | 'failed';
  readonly started_at: number;
  readonly finished_at: number | null;
  readonly total: number;
  readonly done: number;
  readonly drift: number;
  readonly error: string | null;
}

interface Ended extends Run {
  readonly tookMs: number;
}

const POLL_MS = 200;

/** An operator's resync of everything, to its end. */
export async function resync(at: Listening, withinMs: number): Promise<Ended> {
  const answer = await fetch(`${at.opsUrl}api/resync`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  });
  const { run_id: id } = (await answer.json()) as { run_id: number };
  return untilEnded(at, id, withinMs);
}

/** @throws Error when it fails, or takes too long. */
export async function untilEnded({ opsUrl }: Listening, id: number, withinMs: number): Promise<Ended> {
  const deadlineMs = performance.now() + withinMs;
  for (;;) {
    const answer = await fetch(`${opsUrl}api/runs/${id}`);
    // A run is there as soon as the mirror has begun it.
    if (answer.status !== 404) {
      const run = (await answer.json()) as Run;
      if (run.state === 'failed') throw new Error(`run ${id} failed: ${run.error}`);
      if (run.finished_at !== null) return { ...run, tookMs: run.finished_at - run.started_at };
    }
    if (performance.now() > deadlineMs)
      throw new Error(`run ${id} is still going after ${withinMs / 1_000} s`);
    await sleep(POLL_MS);
  }
}
