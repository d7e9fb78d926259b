/** Lets a thread yield to the others of this machine: what answers depend on goes first. */
import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';

/** As `nice` says it. */
const NICE = 10;

/**
 * For the thread that calls it. Linux alone gives a thread a priority of its own, which `os.setPriority` sets by the
 * thread's number; elsewhere nothing happens.
 */
export function yieldToOthers(): void {
  try {
    const tid = Number(readlinkSync('/proc/thread-self').split('/').at(-1));
    if (Number.isSafeInteger(tid)) setPriority(tid, NICE);
  } catch {
    // Slower answers in a burst, and nothing else.
  }
}
