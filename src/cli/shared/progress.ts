/** Progress of long work: a line every few seconds. */
import { counted, duration } from '../../platform/amounts.ts';
import { visible } from '../../platform/visible.ts';

interface Work {
  readonly done: number;
  /** 0: not known yet. */
  readonly total: number;
  readonly drift?: number;
}

export interface Progress {
  readonly show: (work: Work) => void;
  readonly say: (text: string) => void;
}

const PRODUCTS = { unit: 'products', atFirst: 'reading the list of products' };
const LINE_EVERY_MS = 3_000;

export function createProgress(stream: NodeJS.WritableStream, words = PRODUCTS): Progress {
  const describe = describer(words);
  let nextLineAtMs = performance.now() + LINE_EVERY_MS;
  return {
    show(work) {
      const text = describe(work);
      if (performance.now() < nextLineAtMs) return;
      nextLineAtMs = performance.now() + LINE_EVERY_MS;
      stream.write(`${text}\n`);
    },
    say: (text) => void stream.write(`${visible(text)}\n`),
  };
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
    if (perSecond > 0 && done < total) parts.push(`${duration(((total - done) / perSecond) * 1_000)} left`);
    if (drift > 0) parts.push(counted(drift, 'difference'));
    return parts.join(', ');
  };
}
