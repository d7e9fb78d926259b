/** A steady stream of webhooks about variants that a read can tell everything of. */
import type { DeliveryRecord } from '../../src/sandbox/network/deliveries.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { present } from '../shared/present.ts';
import { plainVariants, type Owner } from './harness.ts';

interface Load {
  /** Deliveries whose fate is known, in the order in which it came to be known. */
  readonly settled: readonly DeliveryRecord[];
  stop(): void;
}

const TICK_MS = 10;

/** Sends as many as are due at each tick, several at once on their way. */
export function startLoad(test: Owner, sandbox: Sandbox, perSecond: number): Load {
  const levels = plainVariants(sandbox, 6);
  sandbox.network.concurrency = 32;
  const settled: DeliveryRecord[] = [];
  const stopListening = sandbox.deliveries.onSettled((record) => void settled.push(record));
  const startedMs = performance.now();
  let sent = 0;
  const timer = setInterval(() => {
    const due = ((performance.now() - startedMs) * perSecond) / 1_000;
    for (; sent < due; sent += 1) {
      sandbox.operations.add({ ...present(levels[sent % levels.length]), by: sent % 3 === 0 ? -1 : 1 });
    }
  }, TICK_MS);
  const stop = (): void => clearInterval(timer);
  test.onTestFinished(() => {
    stop();
    stopListening();
  });
  return { settled, stop };
}

/** Settled with this status from the `from`th on. */
export function withStatus(load: Load, status: number, from = 0): DeliveryRecord[] {
  return load.settled.slice(from).filter((record) => record.status === status);
}

export function unanswered(load: Load): readonly DeliveryRecord[] {
  return load.settled.filter(({ outcome }) => outcome !== 'answered');
}
