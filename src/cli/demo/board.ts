/** The demo in six figures: what happened to the webhooks, what the mirror did about it, and how it stands now. */
import { colours } from '../shared/colours.ts';
import type { Comparison } from './compare.ts';
import type { Tally } from './story.ts';

/** What is known at one moment. */
export interface Standing {
  readonly tally: Readonly<Tally>;
  readonly comparison: Comparison;
}

/** @param phase what is going on, and what comes next. */
export function boardLines({ tally, comparison }: Standing, phase: string): readonly string[] {
  const { wrong, levels } = comparison;
  const { killed, ...faults } = faultsOf(tally);
  return [
    '',
    row('changes', count(tally.changes), `in ${count(tally.sent)} webhooks; ${faults.other}`),
    row('lost on purpose', count(lostOf(tally)), `${faults.lost}${killed}`, 'red'),
    row('proven lost', count(tally.lossesProved), 'the next webhook began at another figure', 'cyan'),
    row('repaired', count(tally.repaired), 'figures put right by reading the product', 'green'),
    row(
      'wrong right now',
      count(wrong),
      `of ${count(levels)} stock levels, against the store’s own`,
      wrong === 0 ? 'green' : 'red',
    ),
    row(
      'certain',
      `${percent(comparison)} %`,
      `of ${count(levels)} levels; the others are marked as suspect`,
      comparison.certain === levels ? 'green' : 'yellow',
    ),
    '',
    colours.dim(`  ${phase}`),
  ];
}

/** The same in one line. */
export function boardLine({ tally, comparison }: Standing): string {
  return (
    `${count(tally.changes)} changes, ${count(lostOf(tally))} webhooks lost on purpose, ` +
    `${count(tally.lossesProved)} proven lost, ${count(tally.repaired)} figures repaired; right now ` +
    `${count(comparison.wrong)} of ${count(comparison.levels)} stock levels wrong, ${percent(comparison)} % certain`
  );
}

function lostOf({ lost, missed }: Readonly<Tally>): number {
  return lost + missed;
}

function faultsOf({ lost, missed, duplicated, late }: Readonly<Tally>) {
  return {
    lost: `${count(lost)} never sent`,
    killed: missed === 0 ? '' : `, ${count(missed)} while the mirror was killed`,
    other: `${count(duplicated)} sent twice, ${count(late)} late`,
  };
}

/** Rounded down: only all of them are 100 %. */
function percent({ certain, levels }: Comparison): string {
  return levels === 0 ? '100' : String(Math.floor((1_000 * certain) / levels) / 10);
}

function row(
  name: string,
  figure: string,
  meaning: string,
  paint: 'red' | 'green' | 'yellow' | 'cyan' | 'bold' = 'bold',
): string {
  return `  ${name.padEnd(15)} ${colours[paint](figure.padStart(8))}   ${colours.dim(meaning)}`;
}

function count(figure: number): string {
  return figure.toLocaleString('en-US');
}
