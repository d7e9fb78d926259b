/** What became of every delivery: which were answered, and whether each answer came in time. */
import type { Deliveries, DeliveryRecord } from '../../src/sandbox/deliveries.ts';
import type { Delivery } from '../../src/sandbox/webhooks.ts';

/** The process was not there: from a kill to the line that says it listens again. */
interface Absence {
  readonly fromMs: number;
  toMs: number;
}

export class Answers {
  /** Sent, of which answered 204; repeats count. */
  sent = 0;
  answered = 0;
  /** Cut by a kill, or sent while nobody listened. */
  cut = 0;
  slowestMs = 0;
  /** From each start to its first 204. */
  readonly firstAnswerMs: number[] = [];
  readonly #problems: string[] = [];
  readonly #kills: number[] = [];
  readonly #absences: Absence[] = [];
  #toFind: Delivery[] = [];
  #spawnedAtMs: number | null = null;
  readonly #deliveries: Deliveries;
  /** Failed ones: judged once it is known when the process was there. */
  #failed: { readonly requestId: string; readonly fromMs: number; readonly toMs: number }[] = [];

  constructor(deliveries: Deliveries) {
    this.#deliveries = deliveries;
    deliveries.onSettled((record) => this.#settle(record));
  }

  get lost(): number {
    return this.#deliveries.counts.lost;
  }

  spawned(atMs: number): void {
    this.#spawnedAtMs = atMs;
  }

  /** Nobody listens before the first start either. */
  killed(atMs: number): void {
    this.#kills.push(atMs);
    // One that was killed before it listened makes the absence longer.
    if (this.#absences.at(-1)?.toMs !== Number.POSITIVE_INFINITY) {
      this.#absences.push({ fromMs: atMs, toMs: Number.POSITIVE_INFINITY });
    }
  }

  listening(atMs: number): void {
    const last = this.#absences.at(-1);
    if (last?.toMs === Number.POSITIVE_INFINITY) last.toMs = atMs;
  }

  /** Answered deliveries that are to be found in the log, each handed out once. */
  takeAnswered(): readonly Delivery[] {
    const taken = this.#toFind;
    this.#toFind = [];
    return taken;
  }

  /** Answers that broke the promise of the second, or were no 204. */
  takeProblems(): string[] {
    for (const { requestId, fromMs, toMs } of this.#failed) {
      if (this.#absences.some((absence) => fromMs <= absence.toMs && toMs >= absence.fromMs)) this.cut += 1;
      else this.#problems.push(`delivery ${requestId} failed although the mirror listened`);
    }
    this.#failed = [];
    return this.#problems.splice(0);
  }

  /** When something was sent, seen from the process. */
  #describe(sentAtMs: number): string {
    const sinceKillMs = sentAtMs - (this.#kills.at(-1) ?? sentAtMs);
    const listenedAtMs = this.#absences.at(-1)?.toMs ?? Number.POSITIVE_INFINITY;
    const listening = Number.isFinite(listenedAtMs)
      ? `${sentAtMs - listenedAtMs} ms after it said that it listens`
      : 'it has not said yet that it listens';
    return `sent ${sinceKillMs} ms after the last kill; ${listening}`;
  }

  #settle(record: DeliveryRecord): void {
    const { delivery, outcome, status, sentAtMs, ms } = record;
    if (sentAtMs === null || ms === null) return;
    this.sent += 1;
    const end = { requestId: delivery.requestId, fromMs: sentAtMs, toMs: sentAtMs + ms };
    switch (outcome) {
      case 'answered':
        this.slowestMs = Math.max(this.slowestMs, ms);
        if (status !== 204) {
          this.#problems.push(`delivery ${delivery.requestId} was answered ${status}`);
          return;
        }
        this.answered += 1;
        this.#toFind.push(delivery);
        if (this.#spawnedAtMs !== null && end.toMs >= this.#spawnedAtMs) {
          this.firstAnswerMs.push(end.toMs - this.#spawnedAtMs);
          this.#spawnedAtMs = null;
        }
        return;
      case 'timeout':
        // Refused at once while nobody listens: only a kill in its middle excuses one that hangs.
        if (this.#kills.some((atMs) => end.fromMs <= atMs && atMs <= end.toMs)) this.cut += 1;
        else
          this.#problems.push(
            `delivery ${delivery.requestId} was not answered within a second (${this.#describe(end.fromMs)})`,
          );
        return;
      case 'failed':
        this.#failed.push(end);
        return;
      case 'lost':
      case 'pending':
    }
  }
}
