/** Which answers the crash course excuses, and which it does not. */
import { expect, test } from 'vitest';
import { Answers } from '../../../scripts/crash/answers.ts';
import type { Deliveries, DeliveryOutcome, DeliveryRecord } from '../../../src/sandbox/network/deliveries.ts';

/** A process that was killed at 1,000, started again at 1,500, and listened at 2,500. */
function scene() {
  let settle: (record: DeliveryRecord) => void = () => undefined;
  const deliveries: Deliveries = {
    records: [],
    counts: { pending: 0, answered: 0, timeout: 0, failed: 0, lost: 3 },
    onSettled: (listener) => {
      settle = listener;
      return () => true;
    },
  };
  const answers = new Answers(deliveries);
  answers.spawned(0);
  answers.killed(1_000);
  answers.spawned(1_500);
  answers.listening(2_500);
  const end = (
    requestId: string,
    outcome: DeliveryOutcome,
    {
      sentAtMs,
      ms,
      status = 204,
    }: { readonly sentAtMs: number; readonly ms: number; readonly status?: number },
  ): void =>
    settle({
      delivery: { requestId, requestTimeMs: 0, items: [], body: Buffer.from(requestId), headers: {} },
      duplicate: false,
      clientId: 'sandbox-client',
      url: null,
      problem: null,
      createdAtMs: sentAtMs,
      outcome,
      sentAtMs,
      status: outcome === 'answered' ? status : null,
      ms,
    });
  return { answers, end };
}

test('answers are handed out once, with the time of the first after each start', () => {
  const { answers, end } = scene();
  end('a', 'answered', { sentAtMs: 2_400, ms: 200 });
  end('b', 'answered', { sentAtMs: 2_450, ms: 20 });
  expect(answers.takeAnswered().map(({ requestId }) => requestId)).toEqual(['a', 'b']);
  expect(answers.takeAnswered()).toEqual([]);
  expect(answers).toMatchObject({ sent: 2, answered: 2, slowestMs: 200, firstAnswerMs: [1_100], lost: 3 });
  expect(answers.takeProblems()).toEqual([]);
});

test('what a kill cut, or nobody was there to answer, is excused', () => {
  const { answers, end } = scene();
  end('cut', 'failed', { sentAtMs: 990, ms: 20 });
  end('hangs', 'timeout', { sentAtMs: 900, ms: 1_000 });
  end('refused', 'failed', { sentAtMs: 1_200, ms: 1 });
  end('early', 'failed', { sentAtMs: 2_000, ms: 1 });
  expect(answers.takeProblems()).toEqual([]);
  expect(answers.cut).toBe(4);
});

test('what a running process did not answer in time, cut, or answered otherwise, is not; a refusal is counted', () => {
  const { answers, end } = scene();
  end('slow', 'timeout', { sentAtMs: 2_600, ms: 1_000 });
  // It was started by then, and took the connection.
  end('hung', 'timeout', { sentAtMs: 1_600, ms: 1_000 });
  end('broken', 'failed', { sentAtMs: 2_600, ms: 5 });
  end('missing', 'answered', { sentAtMs: 2_600, ms: 5, status: 404 });
  end('busy', 'answered', { sentAtMs: 2_600, ms: 810, status: 503 });
  expect(answers.takeProblems()).toEqual([
    'delivery slow was not answered within a second',
    'delivery hung was not answered within a second',
    'delivery missing was answered 404',
    'delivery broken failed although the mirror listened',
  ]);
  expect(answers.refused).toBe(1);
  expect(answers.takeAnswered()).toEqual([]);
});
