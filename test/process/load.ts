import type { DeliveryRecord } from '../../src/sandbox/network/deliveries.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { present } from '../shared/present.ts';
import { plainVariants, type Owner } from './harness.ts';

interface Load {
  readonly settled: readonly DeliveryRecord[];
  stop(): void;
}

const TICK_MS = 10;

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

export function withStatus(load: Load, status: number, from = 0): DeliveryRecord[] {
  return load.settled.slice(from).filter((record) => record.status === status);
}

export function unanswered(load: Load): readonly DeliveryRecord[] {
  return load.settled.filter(({ outcome }) => outcome !== 'answered');
}
