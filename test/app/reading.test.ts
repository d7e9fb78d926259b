/** What reads from the store says what is at fault where a token, or a refusal, cannot be kept. */
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { createReading } from '../../src/app/reading.ts';
import { whyNotShared } from '../../src/app/shared-lockout.ts';
import { TransportError } from '../../src/replication/transport.ts';
import type { ServiceConnection, ServiceConnectionOptions } from '../../src/store-api/connect.ts';
import { fakeService, newStore } from '../reconcile/mirror.ts';
import { READING_CONFIG } from './reading-config.ts';

test.each<[string, Error, RegExp]>([
  ['the token file', new Error('EACCES'), /token file cannot be used.*permissions/],
  [
    'the engine',
    new TransportError('no answer'),
    /^the credential lockout could not be written to the engine/,
  ],
])('%s is at fault', (_what, error, expected) => {
  const said: string[] = [];
  let options: ServiceConnectionOptions | null = null;
  const reading = createReading({
    config: READING_CONFIG,
    store: newStore(),
    clock: { now: Date.now },
    log: pino({ level: 'warn' }, { write: (line) => void said.push(line) }),
    platform: {
      connect: (given) => {
        options = given;
        return {
          client: { ...fakeService(Date.now, []), close: () => Promise.resolve() },
          tokens: {},
        } as unknown as ServiceConnection;
      },
      random: () => 0.5,
    },
    monitor: null,
    sharing: { file: (file) => file, whyNotShared },
  });
  onTestFinished(() => reading.stop());
  (options as ServiceConnectionOptions | null)?.onTokenFileError(error);
  expect(said.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual([
    expect.stringMatching(expected),
  ]);
});
