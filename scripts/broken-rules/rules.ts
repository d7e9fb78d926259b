/** Rules of receiving, and how each is broken on purpose. */
interface Change {
  readonly file: string;
  /** A text that the file contains exactly once. */
  readonly from: string;
  readonly to: string;
}

export interface BrokenRule {
  readonly name: string;
  readonly changes: readonly Change[];
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
