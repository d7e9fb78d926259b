/** Runs a program with a limit on its memory and on its silence; what overstays is killed with all its children. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export interface Ended {
  /** `killed`: it said nothing for too long. */
  readonly how: 'ok' | 'failed' | 'killed';
  /** The last lines it wrote, to either stream. */
  readonly lastLines: readonly string[];
  readonly pid: number;
}

interface ProcessOptions {
  readonly folder: string;
  readonly args: readonly string[];
  /** Each line it writes starts the clock anew. */
  readonly silenceMs: number;
  readonly onLine?: (line: string) => void;
}

const MEMORY_MB = 1_024;
const LINES_KEPT = 40;
const underWay = new Set<number>();

/** Kills what is under way: the groups are their own, so that Ctrl-C does not reach them. */
export function killAll(): void {
  for (const pid of underWay) killGroup(pid);
}

export function runNode({ folder, args, silenceMs, onLine }: ProcessOptions): Promise<Ended> {
  const child = spawn(process.execPath, args, {
    cwd: folder,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NODE_OPTIONS: `--max-old-space-size=${MEMORY_MB}`, NO_COLOR: '1' },
  });
  return new Promise((resolve, reject) => {
    const { pid } = child;
    child.on('error', reject);
    if (pid === undefined) return;
    underWay.add(pid);
    const lastLines: string[] = [];
    let isKilled = false;
    const kill = (): void => {
      isKilled = true;
      killGroup(pid);
    };
    let timer = setTimeout(kill, silenceMs);
    for (const stream of [child.stdout, child.stderr]) {
      createInterface(stream).on('line', (line) => {
        lastLines.push(line);
        if (lastLines.length > LINES_KEPT) lastLines.shift();
        clearTimeout(timer);
        timer = setTimeout(kill, silenceMs);
        onLine?.(line);
      });
    }
    child.on('close', (code) => {
      clearTimeout(timer);
      underWay.delete(pid);
      // Children that outlive it would go on using the cores.
      killGroup(pid);
      resolve({ how: isKilled ? 'killed' : code === 0 ? 'ok' : 'failed', lastLines, pid });
    });
  });
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    // No process of the group is left.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
