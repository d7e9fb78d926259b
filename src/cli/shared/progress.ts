/** Progress of lengthy work: on a terminal a bar with rate and time left, elsewhere a line every few seconds. */
import { SingleBar } from 'cli-progress';
import pc from 'picocolors';
import type { z } from 'zod';
import { visible } from '../../platform/visible.ts';
import type { runViewSchema } from './ops-client.ts';

export type RunView = z.infer<typeof runViewSchema>;

interface Shown<T> {
  readonly show: (state: T) => void;
  /** A remark between two states. */
  readonly say: (text: string) => void;
  /** Must be called on every way out: a bar left alone keeps the process alive and the cursor hidden. */
  readonly end: () => void;
}

export type Progress = Shown<RunView>;

interface Work {
  readonly done: number;
  /** Zero while it is not known. */
  readonly total: number;
  /** Shown behind the figures. */
  readonly note?: string;
}

export type WorkProgress = Shown<Work>;

/** What is counted, and what is shown while the total is unknown. */
interface WorkWords {
  readonly unit: string;
  readonly atFirst: string;
}

interface Display extends Shown<Work & { readonly text: string }> {
  /** The end has a summary of its own and needs no line. */
  readonly showsEnd: boolean;
}

const LINE_EVERY_MS = 3_000;

/** A run's progress. */
export function createProgress(stream: NodeJS.WriteStream): Progress {
  const display = createDisplay(stream, 0);
  const describe = describer({ unit: 'products', atFirst: 'reading the list of products' });
  return {
    show(run) {
      const note = run.drift > 0 ? `${run.drift} corrected` : undefined;
      const work = { done: run.done, total: run.total, ...(note === undefined ? {} : { note }) };
      const text = describe(work);
      if (run.state === 'running' || display.showsEnd) display.show({ ...work, text });
    },
    say: display.say,
    end: display.end,
  };
}

/** Like a run's, for other work. Without a bar, nothing is printed for work that ends within seconds. */
export function createWorkProgress(stream: NodeJS.WriteStream, words: WorkWords): WorkProgress {
  const display = createDisplay(stream, performance.now() + LINE_EVERY_MS);
  const describe = describer(words);
  return {
    show: (work) => display.show({ ...work, text: describe(work) }),
    say: display.say,
    end: display.end,
  };
}

function createDisplay(stream: NodeJS.WriteStream, firstLineAtMs: number): Display {
  return stream.isTTY ? barDisplay(stream) : lineDisplay(stream, firstLineAtMs);
}

function barDisplay(stream: NodeJS.WriteStream): Display {
  let bar: SingleBar | null = null;
  const end = (): void => {
    bar?.stop();
    bar = null;
  };
  return {
    showsEnd: true,
    show({ done, total: known, text }) {
      const total = Math.max(1, known);
      if (bar === null) {
        bar = new SingleBar({
          stream,
          format: `${pc.cyan('{bar}')} {percentage}%  {text}`,
          barsize: 24,
          barCompleteChar: '█',
          barIncompleteChar: '░',
          hideCursor: true,
          linewrap: false,
        });
        bar.start(total, done, { text });
      }
      bar.setTotal(total);
      bar.update(done, { text });
    },
    say(text) {
      end();
      stream.write(`${visible(text)}\n`);
    },
    end,
  };
}

function lineDisplay(stream: NodeJS.WriteStream, firstLineAtMs: number): Display {
  let nextAtMs = firstLineAtMs;
  return {
    showsEnd: false,
    show({ text }) {
      if (performance.now() < nextAtMs) return;
      nextAtMs = performance.now() + LINE_EVERY_MS;
      stream.write(`${text}\n`);
    },
    say(text) {
      stream.write(`${visible(text)}\n`);
    },
    end: () => undefined,
  };
}

/** Rate and time left follow from what was seen since the first look: a resumed run does not start at zero. */
function describer({ unit, atFirst }: WorkWords): (work: Work) => string {
  let first: { atMs: number; done: number } | null = null;
  return ({ done, total, note }) => {
    if (total === 0) return atFirst;
    first ??= { atMs: performance.now(), done };
    const seconds = (performance.now() - first.atMs) / 1_000;
    const perSecond = seconds < 0.5 ? 0 : (done - first.done) / seconds;
    const parts = [`${done}/${total} ${unit}`];
    if (perSecond > 0) {
      parts.push(`${perSecond.toFixed(perSecond < 10 ? 1 : 0)}/s`);
      if (done < total) parts.push(`${duration((total - done) / perSecond)} left`);
    }
    if (note !== undefined) parts.push(note);
    return parts.join(', ');
  };
}

function duration(seconds: number): string {
  const whole = Math.ceil(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3_600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3_600)} h ${Math.floor((whole % 3_600) / 60)} min`;
}
