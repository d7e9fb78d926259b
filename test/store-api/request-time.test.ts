import { expect, it } from 'vitest';
import { requestTimeMs } from '../../src/store-api/request-time.ts';

it.each<[string, string, number | null]>([
  ['as the store sends it', '{"request_id":"1","request_time":1790000000123,"data":{}}', 1_790_000_000_123],
  ['with white space', '{\n  "request_time" :\n    1790000000123\n}', 1_790_000_000_123],
  ['in seconds', '{"request_time":1790000000}', null],
  ['as a text', '{"request_time":"1790000000123"}', null],
  ['not at all', '{}', null],
  ['cut off', '{"request_time"', null],
])('finds the time of a body that says it %s', (_, body, timeMs) => {
  expect(requestTimeMs(Buffer.from(body))).toBe(timeMs);
});
