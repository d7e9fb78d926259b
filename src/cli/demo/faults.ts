/** The demo's faults: in the network and in the store's answers. */
import type { Sandbox } from '../../sandbox/sandbox.ts';

/** Webhooks are lost, duplicated, delayed and reordered; reads are stale, slow or fail. */
export function beginFaults({ network, reads }: Sandbox): void {
  network.loss = 0.12;
  network.duplicate = 0.1;
  network.reorder = 0.15;
  network.delayMs = { min: 0, max: 400 };
  network.tail = { probability: 0.03, maxMs: 4_000 };
  reads.stale = { probability: 0.1, ageMs: 1_500 };
  reads.slow = { probability: 0.1, ms: 800 };
  reads.fail.serverError = 0.05;
}

export function endFaults({ network, reads }: Sandbox): void {
  network.loss = 0;
  network.duplicate = 0;
  network.reorder = 0;
  network.delayMs = { min: 0, max: 0 };
  network.tail = { probability: 0, maxMs: 0 };
  reads.stale.probability = 0;
  reads.slow.probability = 0;
  reads.fail.serverError = 0;
}
