/** Watches a run until it ends, and shows its progress, or what it waits for. */
import { setTimeout as sleep } from 'node:timers/promises';
import { causeLine, type Cause } from '../../ops/condition/cause.ts';
import { timesOf } from '../../ops/condition/condition.ts';
import type { Progress, RunView } from '../shared/progress.ts';

export interface Sight {
  readonly run: RunView;
  /** Why the store is not being asked at the moment. */
  readonly blocked: { readonly kind: string; readonly message: string } | null;
  /** What is in the way of the run. */
  readonly causes: readonly Cause[];
}

/** What is in the way is said again this often, with since when and the next attempt. */
const SAY_EVERY_MS = 10_000;
/** Only a person can end these; waiting would be in vain. */
const NEEDS_A_PERSON: ReadonlySet<string> = new Set(['credentials', 'wrong_store']);

/**
 * @param sights of the run; they end before it does when they are interrupted.
 * @returns the finished run; null when interrupted.
 * @throws Error why the store must not be asked.
 */
export async function watchRun(sights: AsyncIterable<Sight>, progress: Progress): Promise<RunView | null> {
  let told: string | null = null;
  let sayAgainAtMs = 0;
  for await (const { run, blocked, causes } of sights) {
    if (run.state !== 'running') {
      progress.show(run);
      return run;
    }
    if (blocked !== null && NEEDS_A_PERSON.has(blocked.kind)) throw new Error(blocked.message);
    const [cause] = causes;
    // Its progress would be the same line again and again.
    if (cause === undefined) progress.show(run);
    else if (cause.kind !== told || performance.now() >= sayAgainAtMs) {
      progress.say(waitingFor(cause));
      sayAgainAtMs = performance.now() + SAY_EVERY_MS;
    }
    told = cause?.kind ?? null;
  }
  return null;
}

function waitingFor(cause: Cause): string {
  const times = timesOf(cause, Date.now());
  return `waiting${times === '' ? '' : ` (${times})`}: ${causeLine(cause)}`;
}

export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  // Rejects when interrupted; who waits notices that by itself.
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}
