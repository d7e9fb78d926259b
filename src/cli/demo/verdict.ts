/** The verdict: what happened, and whether the mirror equals the store. */
import { colours } from '../shared/colours.ts';
import { EXIT } from '../shared/exit-codes.ts';
import type { Comparison } from './compare.ts';
import type { Tally } from './story.ts';

const DIFFERENCES_SHOWN = 20;

interface Verdict {
  readonly text: string;
  readonly exitCode: number;
}

/** @param isAtRest no read was due when the figures were compared. */
export function judge(
  comparison: Comparison,
  tally: Tally,
  { isAtRest }: { readonly isAtRest: boolean },
): Verdict {
  const { differences, levels, totals, products, untold } = comparison;
  const lines = [
    '',
    `webhooks    ${tally.sent} sent: ${tally.lost} lost, ${tally.missed} not answered, ` +
      `${tally.duplicated} delivered twice, ${tally.late} late`,
    `the mirror  noticed ${tally.gapsOpened} missing webhooks (${tally.gapsClosed} came late, ` +
      `${tally.lossesProved} were lost) by the next one, and others`,
    `            by reading every product; it corrected ${tally.repaired} figures`,
    `compared    ${levels} stock levels, ${totals} totals and ${products} products with the store's own`,
    ...(untold === 0 ? [] : [`apart       ${apart(untold)}`]),
    ...differences.slice(0, DIFFERENCES_SHOWN).map((difference) => colours.red(`            ${difference}`)),
  ];
  if (differences.length > DIFFERENCES_SHOWN) {
    lines.push(colours.red(`            and ${differences.length - DIFFERENCES_SHOWN} more`));
  }
  const isEqual = differences.length === 0 && isAtRest;
  lines.push(
    isEqual
      ? colours.bold(colours.green(EQUAL))
      : colours.bold(colours.red(different(differences.length, { isAtRest }))),
  );
  return { text: `${lines.join('\n')}\n`, exitCode: isEqual ? EXIT.done : EXIT.failed };
}

const EQUAL = 'VERDICT: equal. The mirror holds exactly what the store holds.';

function different(count: number, { isAtRest }: { readonly isAtRest: boolean }): string {
  const figures = `${count} ${count === 1 ? 'figure differs' : 'figures differ'}`;
  return isAtRest
    ? `VERDICT: different. ${figures}.`
    : `VERDICT: unfinished. The mirror still has products to read; ${figures}.`;
}

/** What is not compared: said at the beginning, and again with the verdict. */
export function apart(levels: number): string {
  return `${levels} stock levels of other stores, whose products are resold: only webhooks tell them, no read can`;
}

/** One line on how the mirror does while the network is bad. */
export function summaryLine(
  { changes, lost, missed, lossesProved, repaired }: Tally,
  at: Comparison,
): string {
  const { wrong, levels, certain } = at;
  // Rounded down: only all of them are 100 %.
  const percent = levels === 0 ? 100 : Math.floor((1_000 * certain) / levels) / 10;
  return (
    `${changes} changes, ${lost + missed} webhooks lost on purpose, ${lossesProved} proven lost, ${repaired} values repaired; ` +
    `right now ${wrong} of ${levels} stock levels wrong, ${percent} % certain`
  );
}
