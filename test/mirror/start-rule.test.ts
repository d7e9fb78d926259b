import { expect, test } from 'vitest';
import { whyNewEpoch, type FoundMirror, type LogPosition } from '../../src/mirror/start-rule.ts';

const LOG: LogPosition = { epoch: 'e', firstSeq: 10, lastSeq: 20, changeSeq: 100 };
const MIRROR = { epoch: 'e', appliedSeq: 20, changeSeq: 100, isBackup: false };

test.each<[string, FoundMirror, string | null]>([
  ['equal', MIRROR, null],
  ['behind by what is still in the log', { ...MIRROR, appliedSeq: 9 }, null],
  ['ahead of the last heartbeat', { ...MIRROR, changeSeq: 130 }, null],
  ['missing', 'missing', 'there is no mirror'],
  ['damaged', { unusable: 'it is damaged' }, 'it is damaged'],
  ['a backup', { ...MIRROR, isBackup: true }, 'the mirror is a backup'],
  ['of another epoch', { ...MIRROR, epoch: 'f' }, 'the mirror and the event log belong to different epochs'],
  ['beyond the end of the log', { ...MIRROR, appliedSeq: 21 }, 'the mirror is ahead of the event log'],
  [
    'behind the beginning of the log',
    { ...MIRROR, appliedSeq: 8 },
    'the mirror is older than the event log goes back',
  ],
  [
    'below what was handed out',
    { ...MIRROR, changeSeq: 99 },
    'the mirror is older than the changes that were handed out',
  ],
])('a mirror that is %s', (_, mirror, why) => {
  expect(whyNewEpoch(LOG, mirror)).toBe(why);
});
