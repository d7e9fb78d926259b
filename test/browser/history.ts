/** A week behind a mirror that has just begun: noted by its own writer, as if it had run all the time. */
import { openStore } from '../../src/mirror/open-store.ts';
import { QUARTER_MS } from '../../src/mirror/queries/certainty.ts';
import type { Figure } from '../../src/ops/state/timeline.ts';

const MINUTE_MS = 60_000;
const HOUR = 60;
const DAY = 24 * HOUR;

/** When no mirror ran, in minutes before now; a restart ends it. */
export const DOWNTIMES = [
  { from: 32, to: 24 },
  { from: 9 * HOUR, to: 6 * HOUR },
  { from: 4 * DAY, to: 3.5 * DAY },
] as const;

/** To be written while no mirror runs on the file. @param levels the stock levels it holds. */
export async function noteWeek(databasePath: string, nowMs: number, levels: number): Promise<void> {
  const store = await openStore(databasePath, { onDeath: () => undefined, onNews: () => undefined });
  try {
    await store.opened;
    const last = Math.floor(nowMs / MINUTE_MS) - 1;
    const notes: Promise<unknown>[] = [];
    for (let ago = 7 * DAY - 1; ago >= 1; ago -= 1) {
      if (isDown(ago)) continue;
      notes.push(store.writer.command('noteMinute', { minute: last - ago, figures: figuresAt(ago) }));
    }
    for (let ago = DAY; ago > 0; ago -= QUARTER_MS / MINUTE_MS) {
      if (isDown(ago)) continue;
      const quarter = Math.floor((nowMs - ago * MINUTE_MS) / QUARTER_MS);
      const uncertain = DOWNTIMES.some(({ to }) => ago <= to && ago > to - 15)
        ? 0.4
        : ago % 90 === 0
          ? 0.01
          : 0;
      const certain = Math.floor(levels * (1 - uncertain));
      notes.push(store.writer.command('noteCertainty', { quarter, certain, levels }));
    }
    await Promise.all(notes);
  } finally {
    await store.close();
  }
}

const isDown = (ago: number): boolean => DOWNTIMES.some(({ from, to }) => ago <= from && ago > to);

/** Busy by day and quiet by night; a loss now and then; much to repair after downtime. */
function figuresAt(ago: number): Partial<Record<Figure, number>> {
  const busy = 1 + Math.sin((ago / DAY) * 2 * Math.PI);
  const noise = (size: number): number => Math.abs(Math.sin(ago * 12.9898) * size);
  const after = DOWNTIMES.find(({ to }) => ago <= to && ago > to - 5);
  const isLoss = ago % 17 === 3;
  return {
    deliveries: Math.round(40 * busy + noise(25)),
    refused: ago % 240 === 10 ? 3 : 0,
    medianMs: 2 + noise(1),
    p99Ms: 7 + noise(12),
    requests: after === undefined ? Math.round(20 + noise(30)) : 1_400,
    arrivalMedianMs: 180 + noise(80),
    arrivalP99Ms: 700 + noise(900),
    lostInGap: isLoss ? 1 + Math.round(noise(2)) : 0,
    lostTail: ago % 51 === 5 ? 1 : 0,
    lostInDowntime: after === undefined ? 0 : 4,
    corrected: (isLoss ? 2 : 0) + (after === undefined ? 0 : 4),
    repaired: after === undefined ? Math.round(noise(4)) : 300,
    ...(isLoss || after !== undefined
      ? { repairMedianMs: 2_500 + noise(900), repairP99Ms: 4_000 + noise(4_000) }
      : {}),
    pendingReads: after === undefined ? Math.round(noise(3)) : 900,
    suspects: after === undefined ? (isLoss ? 4 : 0) : 1_200,
    openGaps: isLoss ? 1 : 0,
    lagMs: isLoss ? 3_000 : after === undefined ? 0 : 40_000,
    ...(DOWNTIMES.some(({ to }) => to === ago) ? { started: 1 } : {}),
  };
}
