/** What the bench says: one row a figure. */

import { present } from '../../test/shared/present.ts';
export interface Row {
  readonly part: string;
  readonly what: string;
  /** As it is shown, with its unit. */
  readonly ours: string;
  /** What it is measured against, in the same run. */
  readonly against: string | null;
  /** Ours over the other, where that is the point. */
  readonly ratio: number | null;
  readonly target: Target | null;
  /** The plain figures, for programs. */
  readonly figures: Readonly<Record<string, number | string>>;
}

interface Target {
  readonly text: string;
  readonly met: boolean;
  /** So far off that no noise explains it: the run fails. Only ratios may say so. */
  readonly farOff: boolean;
}

/** @param farOff what no noise and no busy machine explains. */
export function atLeast(ratio: number, wanted: number, farOff: number): Target {
  return { text: `≥ ${wanted}`, met: ratio >= wanted, farOff: ratio < farOff };
}

/** @param ratio at most `wanted`, and never above twice that. */
export function atMost(ratio: number, wanted: number): Target {
  return { text: `≤ ${wanted}`, met: ratio <= wanted, farOff: ratio > wanted * 2 };
}

/** A figure with a unit: its machine says too much for it to fail a run. */
export function below(value: number, wanted: number, unit: string): Target {
  return { text: `≤ ${wanted} ${unit}`, met: value <= wanted, farOff: false };
}

/** A figure, and what it leaves out: deliveries that were answered 503. */
export function beside(refused: number, figure: string): string {
  return refused === 0 ? figure : `${figure}, ${refused} NOT STORED`;
}

/** No target is met while deliveries are refused. */
export function unlessRefused(refused: number, target: Target): Target {
  return { ...target, met: target.met && refused === 0 };
}

const HEAD = ['', 'what', 'ours', 'against', 'ratio', 'target', ''];

export function table(rows: readonly Row[]): string {
  const lines = [
    HEAD,
    ...rows.map(({ part, what, ours, against, ratio, target }) => [
      part,
      what,
      ours,
      against ?? '',
      ratio === null ? '' : ratio.toFixed(2),
      target?.text ?? '',
      target === null ? '' : target.met ? 'met' : 'MISSED',
    ]),
  ];
  const widths = HEAD.map((_, column) => Math.max(...lines.map((line) => present(line[column]).length)));
  return lines
    .map((line) =>
      line
        .map((text, i) => text.padEnd(present(widths[i])))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
