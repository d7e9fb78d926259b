/** Rules of receiving and of the way in, and how each is broken on purpose. */
interface Change {
  readonly file: string;
  /** A text that the file contains exactly once. */
  readonly from: string;
  readonly to: string;
}

export interface BrokenRule {
  readonly name: string;
  readonly changes: readonly Change[];
  /** A seed of the simulation that tells of the rule; the first if left out. */
  readonly from?: number;
  /** Run instead of the simulation. */
  readonly test?: string;
}

export const BROKEN_RULES: readonly BrokenRule[] = [
  {
    name: 'coverage forgets that the machine stood still',
    changes: [
      {
        file: 'src/receiver/coverage.ts',
        from: 'if (isClockAhead || elapsedMs - stalledMs > STANDSTILL_MS)',
        to: 'if (elapsedMs < 0)',
      },
    ],
  },
  {
    name: 'a barrier falls',
    changes: [
      {
        file: 'src/core/apply/barrier.ts',
        from: 'Math.max(work.state.trustedAfterMs, work.input.atMs + REPLICA_LAG_MS)',
        to: 'work.input.atMs - 86_400_000',
      },
    ],
  },
  {
    name: 'a missed row comes after the delivery that it precedes',
    changes: [
      {
        file: 'src/receiver/inbox-writer.ts',
        from: 'for (const arrival of arrivals) insert(arrival);',
        to: '',
      },
      {
        file: 'src/receiver/inbox-writer.ts',
        from: 'for (const each of missed) {',
        to: 'for (const arrival of arrivals) insert(arrival);\n      for (const each of missed) {',
      },
    ],
  },
  {
    name: 'the receiver prunes beyond the position of the mirror',
    changes: [
      {
        file: 'src/receiver/run-receiver.ts',
        from: 'upToSeq: Math.min(note.prunableSeq, publishedSeq)',
        to: 'upToSeq: publishedSeq',
      },
    ],
  },
  {
    name: 'a run that was killed counts as stopped',
    changes: [
      { file: 'src/receiver/coverage.ts', from: `if (!last.isStopped) return 'killed';`, to: '' },
      {
        file: 'src/receiver/coverage.ts',
        from: `if (last.keptSocket === null || now.passedSocket === null) return 'port_closed';`,
        to: 'if (last.keptSocket === null || now.passedSocket === null) return null;',
      },
    ],
  },
  {
    name: 'a kept socket is trusted although its queue was full',
    changes: [
      {
        file: 'src/receiver/coverage.ts',
        from: 'unservedMs <= UNSERVED_MS && !wasQueueFull',
        to: 'unservedMs <= UNSERVED_MS',
      },
    ],
    // A story with a full queue in which nothing else reads the levels whose webhooks it lost is too rare.
    test: 'test/receiver/coverage.test.ts',
  },
  {
    name: 'commits of the inbox are not synced',
    changes: [
      {
        file: 'src/receiver/open-inbox.ts',
        from: `db.pragma('synchronous = FULL');`,
        to: `db.pragma('synchronous = NORMAL');`,
      },
    ],
  },
  {
    name: 'a proof that webhooks are missing does not end trust',
    changes: [
      {
        file: 'src/core/merge/way-in.ts',
        from: `return { ...before, wayIn: 'missing', wayInSinceMs: atMs };`,
        to: 'return before;',
      },
    ],
    from: 43,
  },
  {
    name: 'the webhook that proves the way in raises no barrier',
    changes: [
      {
        file: 'src/core/apply/apply-delivery.ts',
        from: `if (state.wayIn !== 'proven') raiseBarrier(work);`,
        to: '',
      },
    ],
    from: 43,
  },
  {
    name: 'a webhook of the command send proves the way in',
    changes: [
      {
        file: 'src/core/apply/apply-delivery.ts',
        from: 'if (!input.isTest) noteWebhook(work);',
        to: 'noteWebhook(work);',
      },
    ],
    from: 73,
  },
  {
    name: 'one read that differs proves that webhooks are missing',
    changes: [
      {
        file: 'src/core/merge/way-in.ts',
        from: 'shownBeforeMs !== null && shownBeforeMs >= Math.max(afterWebhookMs, trustedAfterMs)',
        to: 'shownBeforeMs !== null',
      },
    ],
    from: 43,
  },
  {
    name: 'a silence orders no probe',
    changes: [
      {
        file: 'src/reconcile/probe.ts',
        from: 'if (!this.#inSilence.isOver(nowMs)) return;',
        to: 'return;',
      },
    ],
    from: 74,
  },
  {
    name: 'a request of a stranger makes everything suspect',
    changes: [
      {
        file: 'src/reconcile/probe.ts',
        from: 'this.#afterRefusals.begin(nowMs);',
        to: `this.#afterRefusals.begin(nowMs);
    const missed = { why: 'port_closed', sinceMs: null, untilMs: nowMs, variantIds: null } as const;
    await this.#deps.mirror.append({ kind: 'missed', atMs: nowMs, ...missed });`,
      },
    ],
    from: 11,
  },
  {
    name: 'an acknowledgement with seq 0 counts',
    changes: [{ file: 'src/stream/nats.ts', from: 'ack.seq === 0', to: 'ack.seq === -1' }],
    test: 'test/stream/nats.test.ts',
  },
];

/** @returns the text with the change. @throws Error if the text has changed since the rule was written. */
export function broken(text: string, { file, from, to }: Change): string {
  if (text.split(from).length !== 2) throw new Error(`${file} must contain exactly once: ${from}`);
  return text.replace(from, to);
}
