/** A steady stream of webhooks about variants that a read can tell everything of. */
import type { DeliveryRecord } from '../../src/sandbox/network/deliveries.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { present } from '../shared/present.ts';
import { diskWaitMs, isRefusedByDisk, type BareDisk } from '../hostile/beside.ts';
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

/** Not stored, or answered later than that, although the disk kept nobody waiting. */
export function untimely(load: Load, disk: BareDisk, withinMs = 1_000): readonly unknown[] {
  return load.settled
    .map(({ status, ms, sentAtMs, outcome }) => ({
      outcome,
      status: status ?? 0,
      sentAtMs: sentAtMs ?? 0,
      tookMs: ms ?? Infinity,
    }))
    .filter((one) => !isRefusedByDisk(one, disk))
    .filter((one) => one.status !== 204 || one.tookMs - diskWaitMs(one, disk) >= withinMs);
}

/** Not answered at all, or not within the second that the service waits. */
export function unanswered(load: Load): readonly DeliveryRecord[] {
  return load.settled.filter(({ outcome, ms }) => outcome !== 'answered' || (ms ?? 0) >= 1_000);
}
