/** A program of `examples`, as a process that a test kills. */
import type { ChildProcess } from 'node:child_process';
import { watch, type RunningCommand } from '../cli/harness.ts';

export abstract class Spawned {
  #run: RunningCommand | null = null;
  #said = '';
  /** Why it ended, unless the test killed it. */
  #ended = '';

  protected abstract spawn(): ChildProcess;

  protected signalKill(run: RunningCommand): void {
    run.signal('SIGKILL');
  }

  start(): void {
    const run = watch(this.spawn());
    this.#run = run;
    this.#ended = '';
    void run.ended.then(({ code, signal }) => {
      if (this.#run === run) this.#ended = `it ended: ${code ?? signal}`;
    });
  }

  async kill(): Promise<void> {
    const run = this.#run;
    if (run === null) return;
    this.#run = null;
    this.signalKill(run);
    this.#said += (await run.ended).stdout;
  }

  get waits(): boolean {
    return this.problems.includes('not now');
  }

  get problems(): string {
    return (this.#run?.stderr ?? '') + this.#ended;
  }

  starts(): number {
    return (this.#said + (this.#run?.stdout ?? '')).match(/^starting over: /gm)?.length ?? 0;
  }
}
