/** `npm run freshness`: how long levels are wrong for how many reads, by each way of choosing them (docs/freshness.md). */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { PARTS, type Line } from './freshness/parts.ts';

const USAGE = `npm run freshness -- [--only a,b] [--quick] [--json <file>]

Lets stores lose deliveries in virtual time, and counts for how long levels are wrong. Parts:
${PARTS.map(({ id, title }) => `  ${id.padEnd(8)} ${title}`).join('\n')}

  --only   these parts alone
  --quick  fewer scenarios, fewer hours
  --json   where the figures are written

Exit codes: 0 every target is met, 1 one is not, 2 wrong usage.`;

function usageError(text: string): never {
  console.error(`error: ${text}\n\n${USAGE}`);
  process.exit(2);
}

function options() {
  try {
    return parseArgs({
      options: {
        only: { type: 'string' },
        quick: { type: 'boolean', default: false },
        json: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }).values;
  } catch (error) {
    return usageError(error instanceof Error ? error.message : String(error));
  }
}

const { only, quick, json, help } = options();
if (help) {
  console.log(USAGE);
  process.exit(0);
}
const wanted = only?.split(',') ?? PARTS.map(({ id }) => id);
for (const id of wanted) if (!PARTS.some((part) => part.id === id)) usageError(`there is no part ${id}`);

const seconds = (ms: number): string => (ms < 10_000 ? (ms / 1_000).toFixed(1) : (ms / 1_000).toFixed(0));
const whole = (figure: number): string => figure.toFixed(0);
const COLUMNS: readonly [string, number, (line: Line) => string][] = [
  ['scenario', -27, ({ scenario }) => scenario],
  ['policy', -18, ({ policy }) => policy],
  ['reads/h', 9, ({ readsPerHour }) => whole(readsPerHour)],
  ['by rules', 9, ({ ruledPerHour }) => whole(ruledPerHour)],
  ['wrong s/h', 11, ({ wrongPerHour }) => whole(wrongPerHour)],
  ['median s', 9, ({ medianMs }) => seconds(medianMs)],
  ['p90 s', 9, ({ p90Ms }) => seconds(p90Ms)],
  [
    'µs/read',
    8,
    ({ chooseUs, readsPerHour }) => (chooseUs === 0 || readsPerHour < 50 ? '' : chooseUs.toFixed(1)),
  ],
  ['ratio', 7, ({ ratio }) => ratio?.toFixed(2) ?? ''],
  ['  against', -18, ({ against }) => (against === null ? '' : `  ${against}`)],
  ['target', -1, ({ target }) => (target === null ? '' : `${target.text}${target.isMet ? '' : '  NOT MET'}`)],
];
const row = (cells: readonly string[]): string =>
  COLUMNS.map(([, width], i) => {
    const cell = cells[i] ?? '';
    return width < 0 ? cell.padEnd(-width) : cell.padStart(width);
  })
    .join('')
    .trimEnd();

const lines: Line[] = [];
for (const part of PARTS) {
  if (!wanted.includes(part.id)) continue;
  console.log(`\n${part.id}: ${part.title}\n${row(COLUMNS.map(([name]) => name))}`);
  part.measure(quick ? 'quick' : 'full', (line) => {
    lines.push(line);
    console.log(row(COLUMNS.map(([, , show]) => show(line))));
  });
}
if (json !== undefined) writeFileSync(json, `${JSON.stringify(lines, null, 2)}\n`);
const missed = lines.filter(({ target }) => target?.isMet === false).length;
if (missed > 0) console.error(`\nerror: ${missed} targets are not met`);
process.exitCode = missed > 0 ? 1 : 0;
