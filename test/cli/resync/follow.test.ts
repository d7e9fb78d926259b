/** The wait for a run, on virtual time. */
import { expect, test } from 'vitest';
import { CAUSES } from '../../../src/ops/state/causes.ts';
import type { RunView } from '../../../src/cli/shared/ops-client.ts';
import { follow } from '../../../src/cli/resync.ts';
import { virtualTime } from '../../shared/virtual-time.ts';

const running: RunView = {
  run_id: 1,
  kind: 'operator',
  state: 'running',
  started_at: 0,
  finished_at: null,
  total: 9,
  done: 3,
  compared: 6,
  drift: 0,
  drift_by_reason: {},
  failed: 0,
  list_gap: null,
  removed: 0,
  allowed_by: null,
  allowed_why: null,
  error: null,
};
const done: RunView = { ...running, state: 'done', done: 9 };
const failed: RunView = { ...running, state: 'failed' };
const hold = (code: 'store_down' | 'rate_limited' | 'credentials' | 'wrong_store') => ({
  ...CAUSES[code],
  code,
  message: `Message of ${code}.`,
  remedy: 'Remedy.',
});
const reads = { run: running, hold: null };
const held = (code: Parameters<typeof hold>[0]) => ({ run: running, hold: hold(code) });
const ended = { run: done, hold: null };

interface Look {
  readonly run: RunView;
  readonly hold: ReturnType<typeof hold> | null;
}

/** Each look is 1 s after the one before; the last one repeats. */
async function followed(looks: readonly (Look | null)[], options: { readonly interruptAfter?: number } = {}) {
  const { pass } = virtualTime();
  let at = 0;
  const shown: string[] = [];
  const interrupted = new AbortController();
  const following = follow({
    look: () => {
      if (at === options.interruptAfter) interrupted.abort();
      return Promise.resolve(looks[Math.min(at++, looks.length - 1)] ?? null);
    },
    progress: {
      show: (work) => shown.push(`${work.done}/${work.total}`),
      say: (text) => shown.push(text),
    },
    interrupted: interrupted.signal,
  }).catch((error: unknown) => (error as Error).message);
  await pass(120_000);
  return { result: await following, shown, looks: at };
}

test.each<[name: string, looks: (Look | null)[], result: unknown, shown: string[]]>([
  ['shows the progress until the run is done', [reads, reads, ended], done, ['3/9', '3/9', '9/9']],
  ['ends with a failed run', [reads, { run: failed, hold: null }], failed, ['3/9', '3/9']],
  [
    'returns a run that has ended, whatever holds reads',
    [{ ...held('credentials'), run: done }],
    done,
    ['9/9'],
  ],
  [
    'says once why reads wait, and again when the reason changes or returns',
    [held('store_down'), held('store_down'), held('rate_limited'), reads, held('store_down'), ended],
    done,
    [
      'waiting: Message of store_down. Remedy.',
      'waiting: Message of rate_limited. Remedy.',
      '3/9',
      'waiting: Message of store_down. Remedy.',
      '9/9',
    ],
  ],
  ['ends on refused credentials', [reads, held('credentials')], 'Message of credentials. Remedy.', ['3/9']],
  ['ends on another store', [held('wrong_store')], 'Message of wrong_store. Remedy.', []],
  [
    'waits for a mirror that is back within a minute',
    [reads, ...Array.from({ length: 60 }, () => null), ended],
    done,
    ['3/9', expect.stringMatching(/^waiting: The mirror does not answer\. /) as string, '9/9'],
  ],
  [
    'ends when the mirror stays away',
    [null],
    'the mirror did not come back: start it, then run resync again',
    [expect.stringMatching(/^waiting: The mirror does not answer\. /) as string],
  ],
])('%s', async (...[, looks, result, shown]) => {
  expect(await followed(looks)).toMatchObject({ result, shown });
});

test('returns null once interrupted', async () => {
  expect(await followed([reads], { interruptAfter: 2 })).toMatchObject({ result: null, looks: 3 });
});
