/**
 * The mirror's pulse: written every second, it says until when somebody listened, and its success that the store can
 * commit now, which is what `/healthz` asks.
 */
import type { StoreWriter } from '../store/store.ts';

export interface Pulse {
  /** From here on the stamp is written. Not before what it overwrites, the proof of a silence, was taken note of. */
  begin(): void;
  /**
   * Whether a delivery could be committed now: a commit is tried, at most once in a while for all who ask. Who asks
   * before the beginning waits for it.
   */
  check(): Promise<boolean>;
  /** Writes a last stamp, if there was a first. */
  stop(): Promise<void>;
}

const EVERY_MS = 1_000;
const CHECK_DEADLINE_MS = 700;
const CHECK_VALID_MS = 250;

/** @param wallNow what any program of this host takes for the present, epoch ms: who reads the stamp compares it with that. */
export function createPulse(writer: StoreWriter, wallNow: () => number): Pulse {
  const begun = Promise.withResolvers<void>();
  let timer: NodeJS.Timeout | null = null;
  let checked: { readonly atMs: number; readonly result: Promise<boolean> } | null = null;
  let underWay: Promise<boolean> | null = null;
  const stamp = (): Promise<boolean> =>
    writer.command('alive', { atMs: wallNow() }).then(
      () => true,
      () => false,
    );
  /** One at a time: while the store stands still, stamps must not pile up before it. */
  const beat = (): Promise<boolean> =>
    (underWay ??= begun.promise.then(stamp).finally(() => {
      underWay = null;
    }));
  return {
    begin(): void {
      timer = setInterval(() => void beat(), EVERY_MS).unref();
      begun.resolve();
    },
    check(): Promise<boolean> {
      const nowMs = performance.now();
      if (checked === null || nowMs - checked.atMs > CHECK_VALID_MS) {
        checked = { atMs: nowMs, result: inTime(beat()) };
      }
      return checked.result;
    },
    async stop(): Promise<void> {
      if (timer === null) return;
      clearInterval(timer);
      await underWay;
      await stamp();
    },
  };
}

async function inTime(commit: Promise<boolean>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), CHECK_DEADLINE_MS);
  });
  try {
    return await Promise.race([commit, late]);
  } finally {
    clearTimeout(timer);
  }
}
