/** What became of every delivery: which were answered, and whether each answer came in time. */
import type { Deliveries, DeliveryRecord } from '../../src/sandbox/network/deliveries.ts';
import type { Delivery } from '../../src/sandbox/network/webhooks.ts';

/** The process was not there: from a kill to the line that says it listens again. */
interface Absence {
  readonly fromMs: number;
  toMs: number;
}

export class Answers {
  /** Sent, of which answered 204; repeats count. */
  sent = 0;
  answered = 0;
  /** Answered 503 in time: a disk that others use may take too long for a commit. What they said is read instead. */
  refused = 0;
  /** Cut by a kill, or sent while nothing listened. */
  cut = 0;
  slowestMs = 0;
  /** From each start to its first 204. */
  readonly firstAnswerMs: number[] = [];
  readonly #problems: string[] = [];
  /** From each kill to the next start: nothing was there to answer. */
  readonly #dead: Absence[] = [];
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
    const last = this.#dead.at(-1);
    if (last !== undefined) last.toMs = atMs;
  }

  /** Nothing listens before the first start either. */
  killed(atMs: number): void {
    this.#dead.push({ fromMs: atMs, toMs: Number.POSITIVE_INFINITY });
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

  /** What was not answered within the second, or with another status. */
  takeProblems(): string[] {
    for (const failed of this.#failed) {
      if (this.#absences.some(isMetBy(failed))) this.cut += 1;
      else this.#problems.push(`delivery ${failed.requestId} failed although the mirror listened`);
    }
    this.#failed = [];
    return this.#problems.splice(0);
  }

  #settle(record: DeliveryRecord): void {
    const { delivery, outcome, status, sentAtMs, ms } = record;
    if (sentAtMs === null || ms === null) return;
    this.sent += 1;
    const end = { requestId: delivery.requestId, fromMs: sentAtMs, toMs: sentAtMs + ms };
    switch (outcome) {
      case 'answered':
        this.slowestMs = Math.max(this.slowestMs, ms);
        if (status === 503) {
          this.refused += 1;
          return;
        }
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
        if (this.#dead.some(isMetBy(end))) this.cut += 1;
        else this.#problems.push(`delivery ${delivery.requestId} was not answered within a second`);
        return;
      case 'failed':
        this.#failed.push(end);
        return;
      case 'lost':
      case 'pending':
    }
  }
}

/** Whether a request was on its way during any of an absence. */
function isMetBy({ fromMs, toMs }: Absence): (absence: Absence) => boolean {
  return (absence) => fromMs <= absence.toMs && toMs >= absence.fromMs;
}
