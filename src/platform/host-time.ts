/** The machine's clocks. */
import { readFileSync } from 'node:fs';
import { uptime } from 'node:os';

export interface HostTime {
  /** Epoch ms; may be set at any time. */
  readonly wallMs: () => number;
  /** Since the machine's boot, suspensions included; the same in all processes. Whole ms, never decreasing. */
  readonly sinceBootMs: () => number;
  /** Without suspensions where the system can tell. */
  readonly monotonicMs: () => number;
  /** Differs after each boot; null where the system has none. */
  readonly bootId: string | null;
}

/** The clocks of the system; whole ms. */
interface SystemClocks {
  readonly wallMs: () => number;
  /** The same in all processes; stands still while the machine is suspended. */
  readonly monotonicMs: () => number;
  /** Since the boot, suspensions included; null where the monotonic clock counts them. */
  readonly uptimeMs: (() => number) | null;
}

const BOOT_ID = '/proc/sys/kernel/random/boot_id';
/** The uptime has steps of 10 ms, and costs some 6 µs. */
const UPTIME_EVERY_MS = 200;
/** The wall clock and the monotonic one move apart by more only if the wall clock was set, or after a suspension. */
const APART_MS = 20;

const SYSTEM: SystemClocks = {
  wallMs: Date.now,
  monotonicMs: () => Number(process.hrtime.bigint() / 1_000_000n),
  uptimeMs: process.platform === 'linux' ? () => Math.floor(uptime() * 1_000) : null,
};

export function hostTime({ wallMs, monotonicMs, uptimeMs }: SystemClocks = SYSTEM): HostTime {
  let suspendedMs = 0;
  let checkedAtMs = Number.NEGATIVE_INFINITY;
  let wallBaseMs = 0;
  return {
    wallMs,
    monotonicMs,
    sinceBootMs: () => {
      const nowMs = monotonicMs();
      if (uptimeMs === null) return nowMs;
      // A resumed machine's wall clock shows the suspension at once, so no instant is stamped with the time before it.
      const baseMs = wallMs() - nowMs;
      const isApart = Math.abs(baseMs - wallBaseMs) >= APART_MS;
      if (nowMs - checkedAtMs < UPTIME_EVERY_MS && !isApart) return nowMs + suspendedMs;
      wallBaseMs = baseMs;
      // Read before the monotonic clock: a thread that pauses in between finds less, and never a suspension
      // that was none.
      const upMs = uptimeMs();
      checkedAtMs = monotonicMs();
      suspendedMs = Math.max(suspendedMs, upMs - checkedAtMs);
      return checkedAtMs + suspendedMs;
    },
    bootId: bootId(),
  };
}

function bootId(): string | null {
  try {
    return readFileSync(BOOT_ID, 'utf8').trim();
  } catch {
    return null;
  }
}
