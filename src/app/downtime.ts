import { uptime } from 'node:os';
import type { Config } from '../config/config.ts';

interface LastRun {
  /** Last heartbeat of the previous run; null if none. */
  readonly aliveAtMs: number | null;
  /** A downtime that the previous run noted but did not repair. */
  readonly missedSinceMs: number | null;
  /** systemd passed in the public port's socket and kept it open between the runs. */
  readonly isInherited: boolean;
  /** Boot time of the machine: no socket is older. */
  readonly bootedAtMs: number;
}

/** Since when deliveries may be missing (any time without an open port), or null (docs/architecture.md#downtime). */
export function missedSince({ aliveAtMs, missedSinceMs, isInherited, bootedAtMs }: LastRun): number | null {
  if (missedSinceMs !== null) return missedSinceMs;
  if (aliveAtMs === null) return 0;
  return isInherited && bootedAtMs < aliveAtMs ? null : aliveAtMs;
}

export function portBefore({
  webhook,
}: Pick<Config, 'webhook'>): Pick<LastRun, 'isInherited' | 'bootedAtMs'> {
  return { isInherited: webhook.fd !== undefined, bootedAtMs: Date.now() - uptime() * 1_000 };
}
