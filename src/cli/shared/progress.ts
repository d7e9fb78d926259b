/** Progress of long work: a bar on a terminal, elsewhere a line every few seconds. */
import { SingleBar } from 'cli-progress';
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
  /** Must always be called: a bar keeps the process alive and the cursor hidden. */
  readonly end: () => void;
}

const PRODUCTS = { unit: 'products', atFirst: 'reading the list of products' };
const LINE_EVERY_MS = 3_000;

export function createProgress(stream: NodeJS.WriteStream, words = PRODUCTS): Progress {
  const describe = describer(words);
  let bar: SingleBar | null = null;
  let nextLineAtMs = performance.now() + LINE_EVERY_MS;
  const end = (): void => {
    bar?.stop();
    bar = null;
  };
  return {
    show(work) {
      const text = describe(work);
      if (stream.isTTY) {
        bar ??= startBar(stream, text);
        bar.setTotal(Math.max(1, work.total));
        bar.update(work.done, { text });
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

function startBar(stream: NodeJS.WriteStream, text: string): SingleBar {
  const bar = new SingleBar({
    stream,
    format: `${pc.cyan('{bar}')} {percentage}%  {text}`,
    barsize: 24,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    hideCursor: true,
  });
  bar.start(1, 0, { text });
  return bar;
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
