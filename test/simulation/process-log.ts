/** The log of a simulated process, and lines that are bugs. */
import { pino } from 'pino';
import type { Logger } from '../../src/platform/log.ts';
import type { Life, VirtualTime } from './virtual-time.ts';

interface ProcessLogArgs {
  readonly life: Life;
  readonly time: VirtualTime;
  readonly log: (line: string) => void;
  readonly onFault: (what: string) => void;
}

export function processLog({ life, time, log, onFault }: ProcessLogArgs): Logger {
  return pino(
    { level: 'debug', base: null, timestamp: false },
    {
      write: (line: string) => {
        if (!life.alive) return;
        const said = JSON.parse(line) as {
          level: number;
          msg: string;
          err?: { type: string; stack: string };
        };
        if (said.level >= 30) log(`${said.msg} ${said.err?.stack?.split('\n')[0] ?? ''}`);
        if (/^(Type|Range|Reference|Syntax|Assertion)Error/.test(said.err?.type ?? '')) {
          onFault(`at ${time.nowMs}: ${said.msg}: ${said.err?.stack}`);
        }
      },
    },
  );
}
