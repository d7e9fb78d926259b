/** A credential lockout holds for all replicas, and for the credentials that were refused alone. */
import { expect, test } from 'vitest';
import { sharedLockout } from '../../src/app/shared-lockout.ts';
import { Secret } from '../../src/platform/secret.ts';
import type { TokenFile, TokenState } from '../../src/store-api/token/token-file.ts';
import { MemoryCluster } from '../replication/memory-engine.ts';
import { T0, temporaryFolder } from '../mirror/mirror-file.ts';

const LATCH = { atMs: T0, description: 'unknown client', requestId: null };
const token = { accessToken: 'secret-token', issuedAtMs: T0, expiresAtMs: T0 + 1 };
const LOCKED: TokenState = { token: null, latch: LATCH, pause: null };
const FREE: TokenState = { token, latch: null, pause: null };

function machine(cluster: MemoryCluster, { node = 'test', clientSecret = 'right' } = {}) {
  let own: TokenState | null = null;
  const file: TokenFile = {
    read: () => Promise.resolve(own),
    write: (state) => {
      own = state;
      return Promise.resolve();
    },
  };
  const service = { baseUrl: 'https://store', clientId: 'me', clientSecret: new Secret(clientSecret) };
  return sharedLockout(file, { state: cluster.engine(node).state, service });
}

test('what one was refused with no other tries, and neither token nor secret leaves the machine', async () => {
  const cluster = new MemoryCluster(temporaryFolder());
  await machine(cluster).write(FREE);
  await machine(cluster).write(LOCKED);
  expect(await machine(cluster).read()).toEqual(LOCKED);
  const told = JSON.stringify(cluster.state.get('lockout'));
  expect(told).not.toContain('right');
  expect(told).not.toContain('secret-token');
});

test('other credentials are tried, and that they are accepted does not unlock these', async () => {
  const cluster = new MemoryCluster(temporaryFolder());
  const wrong = machine(cluster, { clientSecret: 'wrong' });
  await wrong.write(LOCKED);
  const right = machine(cluster);
  expect((await right.read())?.latch ?? null).toBeNull();
  await right.write(FREE);
  expect((await wrong.read())?.latch).toEqual(LATCH);
});

test('lifted by one, it is lifted for all', async () => {
  const cluster = new MemoryCluster(temporaryFolder());
  const [one, other] = [machine(cluster), machine(cluster)];
  await one.write(LOCKED);
  await other.write({ token: null, latch: null, pause: null });
  expect((await one.read())?.latch).toBeNull();
});

test('while the engine cannot be reached, what this machine knows counts', async () => {
  const cluster = new MemoryCluster(temporaryFolder());
  const one = machine(cluster, { node: 'a' });
  await one.write(LOCKED);
  cluster.cutOff('a');
  expect((await one.read())?.latch).toEqual(LATCH);
  await expect(one.write(FREE)).rejects.toThrow('cannot be reached');
  expect((await one.read())?.token).toEqual(token);
});

test('a note of another form is none', async () => {
  const cluster = new MemoryCluster(temporaryFolder());
  cluster.state.put('lockout', { since: 'yesterday' });
  expect(await machine(cluster).read()).toBeNull();
});
