/** A run's progress: a bar with rate and time left on a terminal, a line every few seconds elsewhere. */
import { SingleBar } from 'cli-progress';
import pc from 'picocolors';
import type { z } from 'zod';
import type { runViewSchema } from './ops-client.ts';

export type RunView = z.infer<typeof runViewSchema>;

export interface Progress {
  show(run: RunView): void;
  /** A remark between two states. */
  say(text: string): void;
  /** Must be called on every way out: a bar left alone keeps the process alive and the cursor hidden. */
  end(): void;
}

const LINE_EVERY_MS = 3_000;

export function createProgress(stream: NodeJS.WriteStream): Progress {
  return stream.isTTY ? barProgress(stream) : lineProgress(stream);
}

function barProgress(stream: NodeJS.WriteStream): Progress {
  const describe = describer();
  let bar: SingleBar | null = null;
  const end = (): void => {
    bar?.stop();
    bar = null;
  };
  return {
    show(run) {
      const total = Math.max(1, run.total);
      const payload = { text: describe(run) };
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
        bar.start(total, run.done, payload);
      }
      bar.setTotal(total);
      bar.update(run.done, payload);
    },
    say(text) {
      end();
      stream.write(`${text}\n`);
    },
    end,
  };
}

function lineProgress(stream: NodeJS.WriteStream): Progress {
  const describe = describer();
  let nextAtMs = 0;
  return {
    show(run) {
      const text = describe(run);
      // The end has a summary of its own.
      if (run.state !== 'running' || performance.now() < nextAtMs) return;
      nextAtMs = performance.now() + LINE_EVERY_MS;
      stream.write(`${text}\n`);
    },
    say(text) {
      stream.write(`${text}\n`);
    },
    end: () => undefined,
  };
}

/** Rate and time left come from what was seen since the first look: a resumed run does not start at nothing. */
function describer(): (run: RunView) => string {
  let first: { atMs: number; done: number } | null = null;
  return (run) => {
    if (run.total === 0) return 'reading the list of products';
    first ??= { atMs: performance.now(), done: run.done };
    const seconds = (performance.now() - first.atMs) / 1_000;
    const perSecond = seconds < 0.5 ? 0 : (run.done - first.done) / seconds;
    const parts = [`${run.done}/${run.total} products`];
    if (perSecond > 0) {
      parts.push(`${perSecond.toFixed(perSecond < 10 ? 1 : 0)}/s`);
      if (run.done < run.total) parts.push(`${duration((run.total - run.done) / perSecond)} left`);
    }
    if (run.drift > 0) parts.push(`${run.drift} corrected`);
    return parts.join(', ');
  };
}

function duration(seconds: number): string {
  const whole = Math.ceil(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3_600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3_600)} h ${Math.floor((whole % 3_600) / 60)} min`;
}
