/** The machine's clocks. */
import { readFileSync } from 'node:fs';
import { uptime } from 'node:os';

export interface HostTime {
  /** Epoch ms; may be set at any time. */
  readonly wallMs: () => number;
  /** Since the machine's boot, suspensions included; the same in all processes. Whole ms, never decreasing. */
  readonly sinceBootMs: () => number;
  /** Differs after each boot; null where the system has none. */
  readonly bootId: string | null;
}

const BOOT_ID = '/proc/sys/kernel/random/boot_id';
/** The uptime has steps of 10 ms, and costs some 6 µs. */
const UPTIME_EVERY_MS = 200;
const UPTIME_STEP_MS = 100;

export function hostTime(): HostTime {
  let suspendedMs = 0;
  let checkedAtMs = Number.NEGATIVE_INFINITY;
  return {
    wallMs: Date.now,
    sinceBootMs: () => {
      // The kernel's monotonic clock, the same for all processes, stands still while the machine is suspended.
      const monotonicMs = Number(process.hrtime.bigint() / 1_000_000n);
      if (process.platform === 'linux' && monotonicMs - checkedAtMs >= UPTIME_EVERY_MS) {
        checkedAtMs = monotonicMs;
        const foundMs = Math.round(uptime() * 1_000) - monotonicMs;
        if (foundMs > suspendedMs + UPTIME_STEP_MS) suspendedMs = foundMs;
      }
      return monotonicMs + suspendedMs;
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
