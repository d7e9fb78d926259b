import { expect, test } from 'vitest';
import { judgeStream } from '../../../src/cli/doctor/stream.ts';
import type { NatsFacts } from '../../../src/stream/nats.ts';

const DAY_NS = 24 * 60 * 60 * 1e9;
const stream = (name: string, over: object = {}) =>
  ({ config: { name, storage: 'file', num_replicas: 3, max_age: 7 * DAY_NS, ...over } }) as NatsFacts['log'];
const GOOD: NatsFacts = {
  serverVersion: '2.10.23',
  maxPayloadBytes: 2 << 20,
  log: stream('s'),
  last: stream('s-last', { max_age: 0 }),
};

test.each<[Partial<NatsFacts>, string[]]>([
  [{}, ['ok']],
  [{ serverVersion: '2.11.0' }, ['ok']],
  [{ serverVersion: '2.10.9' }, ['fail']],
  [{ maxPayloadBytes: 1 << 20 }, ['fail']],
  [{ log: null, last: null }, ['warn']],
  [{ log: stream('s', { storage: 'memory' }) }, ['fail']],
  [{ last: stream('s-last', { num_replicas: 1 }) }, ['warn']],
  [{ log: stream('s', { max_age: 6 * DAY_NS }) }, ['warn']],
  [{ log: stream('s', { max_age: 0 }) }, ['ok']],
])('judges %o', (over, statuses) => {
  const found = judgeStream('s', { ...GOOD, ...over });
  expect(found.map(({ status }) => status)).toEqual(statuses);
});
