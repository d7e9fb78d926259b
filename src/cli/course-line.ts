/** The course of the last day as one line of text. */
import { shareText } from '../ops/condition/condition.ts';
import type { CertainQuarter } from '../mirror/queries/certainty.ts';

const HOUR_MS = 60 * 60_000;
const HOURS = 24;
const STEPS = '▁▂▃▄▅▆▇█';

/** `█████▇▂▆███, at worst 81.2 %`: the worst of each hour, oldest first, and a blank where nothing is known. */
export function courseLine(course: readonly CertainQuarter[], nowMs: number): string {
  const firstHour = Math.floor(nowMs / HOUR_MS) - HOURS + 1;
  const worst = new Array<number | null>(HOURS).fill(null);
  let least: CertainQuarter | null = null;
  for (const quarter of course) {
    if (quarter.levels === 0) continue;
    const share = quarter.certain / quarter.levels;
    const hour = Math.floor(quarter.atMs / HOUR_MS) - firstHour;
    if (hour < 0 || hour >= HOURS) continue;
    worst[hour] = Math.min(worst[hour] ?? 1, share);
    if (least === null || share < least.certain / least.levels) least = quarter;
  }
  const line = worst.map((share) =>
    share === null ? ' ' : (STEPS[Math.min(STEPS.length - 1, Math.floor(share * STEPS.length))] ?? ' '),
  );
  if (least === null) return 'not known';
  const share = least.certain / least.levels;
  return `${line.join('')} at worst ${shareText({ share, certain: least.certain, levels: least.levels })}`;
}
