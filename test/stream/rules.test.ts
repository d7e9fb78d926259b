import { expect, test } from 'vitest';
import { isLost } from '../../src/stream/consumer.ts';

const position = { streamId: 'a', streamSeq: 10 };
const log = { id: 'a', firstSeq: 5, lastSeq: 20 };

test.each<[string, object, object, boolean]>([
  ['a new inbox', { streamId: null, streamSeq: 0 }, {}, true],
  ['the position that was stored', {}, {}, false],
  ['a stream that was created again', {}, { id: 'b' }, true],
  ['messages that grew too old before they were taken', {}, { firstSeq: 12 }, true],
  ['messages that grew old after they were taken', {}, { firstSeq: 11 }, false],
  ['a stream that was restored from an older copy', {}, { lastSeq: 9 }, true],
  ['an empty stream whose messages were all taken', {}, { firstSeq: 11, lastSeq: 10 }, false],
])('position in the stream: %s', (_, stored, found, lost) => {
  expect(isLost({ ...position, ...stored }, { ...log, ...found })).toBe(lost);
});
