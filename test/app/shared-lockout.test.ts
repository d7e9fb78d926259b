/** A credential lockout holds for all replicas, and for the credentials that were refused alone. */
import { expect, test } from 'vitest';
import { sharedLockout } from '../../src/app/shared-lockout.ts';
import { Secret } from '../../src/platform/secret.ts';
import type { TokenFile, TokenState } from '../../src/store-api/token/token-file.ts';
import { LiveBroker } from '../replication/simulated/live-broker.ts';
import { T0 } from '../mirror/mirror-file.ts';

const LATCH = { atMs: T0, description: 'unknown client', requestId: null };
const token = { accessToken: 'secret-token', issuedAtMs: T0, expiresAtMs: T0 + 1 };
const LOCKED: TokenState = { token: null, latch: LATCH, pause: null };
const FREE: TokenState = { token, latch: null, pause: null };

function machine(broker: LiveBroker, { node = 'test', clientSecret = 'right' } = {}) {
  let own: TokenState | null = null;
  const file: TokenFile = {
    read: () => Promise.resolve(own),
    write: (state) => {
      own = state;
      return Promise.resolve();
    },
  };
  const service = { baseUrl: 'https://store', clientId: 'me', clientSecret: new Secret(clientSecret) };
  return sharedLockout(file, { state: broker.engine(node).state, service });
}

test('what one was refused with no other tries, and neither token nor secret leaves the machine', async () => {
  const broker = new LiveBroker();
  await machine(broker).write(FREE);
  await machine(broker).write(LOCKED);
  expect(await machine(broker).read()).toEqual(LOCKED);
  const told = JSON.stringify(broker.noted('state', 'lockout'));
  expect(told).not.toContain('right');
  expect(told).not.toContain('secret-token');
});

test('other credentials are tried, and that they are accepted does not unlock these', async () => {
  const broker = new LiveBroker();
  const wrong = machine(broker, { clientSecret: 'wrong' });
  await wrong.write(LOCKED);
  const right = machine(broker);
  expect((await right.read())?.latch ?? null).toBeNull();
  await right.write(FREE);
  expect((await wrong.read())?.latch).toEqual(LATCH);
});

test('lifted by one, it is lifted for all', async () => {
  const broker = new LiveBroker();
  const [one, other] = [machine(broker), machine(broker)];
  await one.write(LOCKED);
  await other.write({ token: null, latch: null, pause: null });
  expect((await one.read())?.latch).toBeNull();
});

test('while the engine cannot be reached, what this machine knows counts', async () => {
  const broker = new LiveBroker();
  const one = machine(broker, { node: 'a' });
  await one.write(LOCKED);
  broker.cutOff('a');
  expect((await one.read())?.latch).toEqual(LATCH);
  await expect(one.write(FREE)).rejects.toThrow('does not answer');
  expect((await one.read())?.token).toEqual(token);
});

test('a note of another form is none', async () => {
  const broker = new LiveBroker();
  broker.note('state', 'lockout', { since: 'yesterday' });
  expect(await machine(broker).read()).toBeNull();
});
