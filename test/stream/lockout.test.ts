import { expect, test } from 'vitest';
import { createTokenMemory, type TokenFile, type TokenState } from '../../src/store-api/token/token-file.ts';
import { shareLockout } from '../../src/stream/lockout.ts';
import { MemoryServers } from './memory-engine.ts';

const state = (over: Partial<TokenState> = {}): TokenState => ({
  token: null,
  lockout: null,
  pause: null,
  ...over,
});
const REFUSED = { atMs: 1, description: 'refused', requestId: null };
const PAUSE = { fromMs: 1, untilMs: 2 };

function hosts(): [MemoryServers, TokenFile, TokenFile, TokenFile] {
  const servers = new MemoryServers({ now: () => 0 });
  const host = (fingerprint: string): TokenFile => {
    const engine = servers.connect();
    return shareLockout(createTokenMemory(), fingerprint, () => engine);
  };
  return [servers, host('a'), host('a'), host('b')];
}

test('a refused secret is known to every host that has it, until one of them lifts the lockout', async () => {
  const [, one, two, other] = hosts();
  expect(await two.read()).toBeNull();
  await two.write(state({ pause: PAUSE }));
  await one.write(state({ lockout: REFUSED }));
  expect(await two.read()).toEqual(state({ pause: PAUSE, lockout: REFUSED }));
  expect(await other.read()).toBeNull();
  await two.write(state());
  expect(await one.read()).toEqual(state());
});

test('each host keeps its own lockout while the servers are away', async () => {
  const [servers, one, two] = hosts();
  servers.isAway = true;
  await one.write(state({ lockout: REFUSED }));
  servers.isAway = false;
  expect(await one.read()).toEqual(state({ lockout: REFUSED }));
  expect(await two.read()).toBeNull();
});

test('takes no message for a token that is only renewed', async () => {
  const [servers, one] = hosts();
  await one.write(state({ pause: PAUSE }));
  expect(servers.last.size).toBe(0);
});

test('a note that this version cannot read counts as none', async () => {
  const [servers, one] = hosts();
  await servers.connect().publish('credentials.a', Buffer.from('{}'));
  expect(await one.read()).toBeNull();
});
