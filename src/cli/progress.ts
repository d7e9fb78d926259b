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
  end(): void;
}

const LINE_EVERY_MS = 3_000;

export function createProgress(stream: NodeJS.WriteStream): Progress {
  return stream.isTTY ? barProgress(stream) : lineProgress(stream);
}

function barProgress(stream: NodeJS.WriteStream): Progress {
  const bar = new SingleBar({
    stream,
    format: `${pc.cyan('{bar}')} {percentage}%  {value}/{total} products  {rate}/s  {left} left  {drift} corrected`,
    hideCursor: true,
    barsize: 30,
    clearOnComplete: false,
    linewrap: false,
  });
  const pace = createPace();
  let started = false;
  return {
    show(run) {
      const payload = { ...pace(run), drift: run.drift };
      if (!started) bar.start(Math.max(1, run.total), run.done, payload);
      started = true;
      bar.setTotal(Math.max(1, run.total));
      bar.update(run.done, payload);
    },
    say(text) {
      stream.write(`\n${text}\n`);
    },
    end() {
      if (started) bar.stop();
    },
  };
}

function lineProgress(stream: NodeJS.WriteStream): Progress {
  const pace = createPace();
  let nextAtMs = 0;
  return {
    show(run) {
      const { rate, left } = pace(run);
      if (performance.now() < nextAtMs) return;
      nextAtMs = performance.now() + LINE_EVERY_MS;
      stream.write(`${run.done}/${run.total} products, ${rate}/s, ${left} left, ${run.drift} corrected\n`);
    },
    say(text) {
      stream.write(`${text}\n`);
    },
    end: () => undefined,
  };
}

/** Rate and time left, from what was seen since the first look: a resumed run does not start at nothing. */
function createPace(): (run: RunView) => { rate: string; left: string } {
  let first: { atMs: number; done: number } | null = null;
  return (run) => {
    first ??= { atMs: performance.now(), done: run.done };
    const seconds = (performance.now() - first.atMs) / 1_000;
    const perSecond = seconds < 0.5 ? 0 : (run.done - first.done) / seconds;
    const rest = run.total - run.done;
    if (perSecond <= 0) return { rate: '–', left: '–' };
    return { rate: perSecond.toFixed(perSecond < 10 ? 1 : 0), left: duration(rest / perSecond) };
  };
}

function duration(seconds: number): string {
  const whole = Math.ceil(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3_600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3_600)} h ${Math.floor((whole % 3_600) / 60)} min`;
}
