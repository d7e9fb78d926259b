/** Lets a thread yield to the others of this machine: what answers depend on goes first. */
import { readlinkSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';

/** How much lower than the process's own, as `nice` says it: enough to go last, too little to starve beside other programs. */
const NICE_BELOW = 5;
const LOWEST_NICE = 19;

/**
 * For the thread that calls it. Linux alone gives a thread a priority of its own, which `os.setPriority` sets by the
 * thread's number; elsewhere nothing happens.
 */
export function yieldToOthers(): void {
  try {
    const tid = Number(readlinkSync('/proc/thread-self').split('/').at(-1));
    if (Number.isSafeInteger(tid))
      setPriority(tid, Math.min(LOWEST_NICE, getPriority(process.pid) + NICE_BELOW));
  } catch {
    // Slower answers in a burst, and nothing else.
  }
}
