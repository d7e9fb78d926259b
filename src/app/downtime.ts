import { fstatSync } from 'node:fs';
import { uptime } from 'node:os';
import type { Config } from '../config/config.ts';
import type { InboxMetadata } from '../inbox/inbox.ts';

type LastRun = Pick<InboxMetadata, 'aliveAtMs' | 'missedSinceMs' | 'keptSocket'>;

/**
 * Since when deliveries may be missing (any time without an open port, or a run that did not stop), or null
 * (docs/architecture.md#downtime). @param socket passed in, as `socketOf`. @param bootedAtMs no socket is older.
 */
export function missedSince(
  { aliveAtMs, missedSinceMs, keptSocket }: LastRun,
  socket: number | null,
  bootedAtMs = Date.now() - uptime() * 1_000,
): number | null {
  if (missedSinceMs !== null) return missedSinceMs;
  if (aliveAtMs === null) return 0;
  return socket !== null && socket === keptSocket && bootedAtMs < aliveAtMs ? null : aliveAtMs;
}

/** The inode of the public port's socket; null if none was passed in. */
export function socketOf({ webhook }: Pick<Config, 'webhook'>): number | null {
  return webhook.fd === undefined ? null : fstatSync(webhook.fd).ino;
}
