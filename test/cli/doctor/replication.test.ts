/** What `doctor` says of the machines' common log. */
import { expect, test } from 'vitest';
import { checkReplication } from '../../../src/cli/doctor/replication.ts';
import {
  CannotFollow,
  TransportError,
  type Batch,
  type Engine,
  type EngineFinding,
  type Source,
} from '../../../src/replication/transport.ts';

const engineWith = (inspect: () => Promise<readonly EngineFinding[]>) => {
  const engine = { name: 'nats://one:4222', inspect } as unknown as Engine;
  return { engine, source: engine };
};
const batch = (isLive: boolean): Batch => ({
  rows: [],
  positions: [],
  cursor: null,
  firstSeq: null,
  left: 0,
  isLive,
});
const primaryWith = (what: Batch | Error | null) => ({
  engine: null,
  source: {
    name: 'https://primary:8788',
    // eslint-disable-next-line @typescript-eslint/require-await -- it answers at once
    follow: async function* () {
      if (what instanceof Error) throw what;
      if (what !== null) yield what;
    },
  } as unknown as Source,
});

const unsafe: EngineFinding = { problem: 'one copy', remedy: 'LOG_REPLICAS=3', isWarning: false };

test.each([
  ['an engine that is well', engineWith(() => Promise.resolve([])), ['ok'], 'answers'],
  ['one that is not safe', engineWith(() => Promise.resolve([unsafe])), ['ok', 'fail'], 'one copy'],
  [
    'one that could be safer',
    engineWith(() => Promise.resolve([{ ...unsafe, isWarning: true }])),
    ['ok', 'warn'],
    'LOG_REPLICAS=3',
  ],
  [
    'one that is not reached',
    engineWith(() => Promise.reject(new TransportError('no answer'))),
    ['fail'],
    'nats://one:4222: no answer',
  ],
  ['a primary that answers', primaryWith(batch(true)), ['ok'], 'answers'],
  ['one that is behind itself', primaryWith(batch(false)), ['warn'], 'behind itself'],
  ['one with a history of its own', primaryWith(new CannotFollow('another', 'snapshot')), ['ok'], 'answers'],
  ['one that refuses', primaryWith(new TransportError('401')), ['fail'], 'LOG_TOKEN'],
  ['one that says nothing', primaryWith(null), ['fail'], 'does not answer in time'],
])('%s', async (_what, link, results, words) => {
  const checks = await checkReplication(link);
  expect(checks.map((check) => check.status)).toEqual(results);
  expect(JSON.stringify(checks)).toContain(words);
});

test('a fault of the program is not taken for one of the engine', async () => {
  await expect(checkReplication(engineWith(() => Promise.reject(new Error('a fault'))))).rejects.toThrow();
});
