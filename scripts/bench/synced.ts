/** A mirror that has read everything: the start of measurements of a running mirror. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Child, Environment, Listening } from './child.ts';
import { startMirror } from './mirror.ts';

interface Synced {
  readonly mirror: Child;
  readonly at: Listening;
}

const SETTLED_MS = 3_000;
const WAIT_MS = 120_000;

export async function startSynced(env: Environment, folder: string, products: number): Promise<Synced> {
  const mirror = startMirror(env, folder);
  try {
    const at = await mirror.listening();
    await untilLive(at, products);
    // What is dated before the last read was answered may be in it already: deliveries from now on are not.
    await sleep(SETTLED_MS);
    return { mirror, at };
  } catch (error) {
    await mirror.end();
    throw error;
  }
}

/** @throws Error when it does not become equal in time. */
async function untilLive({ opsUrl }: Listening, products: number, everyMs = 100): Promise<void> {
  const deadlineMs = performance.now() + WAIT_MS;
  for (;;) {
    const status = (await (await fetch(`${opsUrl}api/status`)).json()) as Status;
    if (status.state === 'live' && status.products === products) return;
    if (performance.now() > deadlineMs)
      throw new Error(`not live after ${WAIT_MS / 1_000} s: ${JSON.stringify(status)}`);
    await sleep(everyMs);
  }
}

interface Status {
  readonly state: string;
  readonly products: number;
}
