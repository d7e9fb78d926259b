/** Progress of long work: a bar on a terminal, elsewhere a line every few seconds. */
import pc from 'picocolors';
import { counted } from '../../platform/amounts.ts';
import { visible } from '../../platform/visible.ts';

interface Work {
  readonly done: number;
  readonly total: number;
  readonly drift?: number;
}

export interface Progress {
  readonly show: (work: Work) => void;
  readonly say: (text: string) => void;
  /** Must always be called: it ends the line of a bar, and its timer. */
  readonly end: () => void;
}

const PRODUCTS = { unit: 'products', atFirst: 'reading the list of products' };
const LINE_EVERY_MS = 3_000;
const DRAW_EVERY_MS = 100;
const BAR_WIDTH = 24;

export function createProgress(stream: NodeJS.WriteStream, words = PRODUCTS): Progress {
  const describe = describer(words);
  let bar: string | null = null;
  let drawn: string | null = null;
  let nextDraw: NodeJS.Timeout | null = null;
  let nextLineAtMs = performance.now() + LINE_EVERY_MS;
  const draw = (): void => {
    if (bar === drawn) return;
    stream.write(`\r\u001b[K${bar}`);
    drawn = bar;
  };
  const drawWhileChanging = (): void => {
    nextDraw = null;
    if (bar === drawn) return;
    draw();
    nextDraw = setTimeout(drawWhileChanging, DRAW_EVERY_MS);
  };
  const end = (): void => {
    if (nextDraw !== null) clearTimeout(nextDraw);
    nextDraw = null;
    if (bar === null) return;
    draw();
    stream.write('\n');
    bar = null;
    drawn = null;
  };
  return {
    show(work) {
      const text = describe(work);
      if (stream.isTTY) {
        bar = barOf(work, text, stream.columns);
        if (nextDraw === null) drawWhileChanging();
      } else if (performance.now() >= nextLineAtMs) {
        nextLineAtMs = performance.now() + LINE_EVERY_MS;
        stream.write(`${text}\n`);
      }
    },
    say(text) {
      end();
      stream.write(`${visible(text)}\n`);
    },
    end,
  };
}

/** @param columns the width of the terminal, 0 if unknown: a longer line would wrap, and be drawn again below. */
function barOf({ done, total }: Work, text: string, columns: number): string {
  const share = Math.min(1, done / Math.max(1, total));
  const filled = Math.round(share * BAR_WIDTH);
  const bar = '█'.repeat(filled) + '░'.repeat(BAR_WIDTH - filled);
  const rest = ` ${Math.floor(share * 100)}%  ${text}`;
  return pc.cyan(bar) + rest.slice(0, Math.max(0, (columns || 80) - BAR_WIDTH - 1));
}

/** Measures the rate from the first call, since a resumed run does not start at zero. */
function describer({ unit, atFirst }: typeof PRODUCTS): (work: Work) => string {
  let first: { atMs: number; done: number } | null = null;
  return ({ done, total, drift = 0 }) => {
    if (total === 0) return atFirst;
    first ??= { atMs: performance.now(), done };
    const seconds = (performance.now() - first.atMs) / 1_000;
    const perSecond = seconds < 0.5 ? 0 : (done - first.done) / seconds;
    const parts = [`${done}/${total} ${unit}`];
    if (perSecond > 0) parts.push(`${perSecond.toFixed(1)}/s`);
    if (perSecond > 0 && done < total) parts.push(`${duration((total - done) / perSecond)} left`);
    if (drift > 0) parts.push(counted(drift, 'difference'));
    return parts.join(', ');
  };
}

function duration(seconds: number): string {
  return seconds < 120 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`;
}
