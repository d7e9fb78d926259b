/** What a replica does while it leads. */
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { leadWith } from '../../src/app/leading.ts';
import { Monitor } from '../../src/ops/monitor.ts';
import type { Engine, Notes } from '../../src/replication/transport.ts';
import type { ServiceConnection } from '../../src/store-api/connect.ts';
import { fakeService, log, newStore, productIds } from '../reconcile/mirror.ts';
import { READING_CONFIG } from './reading-config.ts';

const PRODUCTS = productIds(5);

function notes(values: Record<string, unknown>): Notes {
  const kept = new Map(Object.entries(values));
  return {
    get: (key) => Promise.resolve(kept.get(key) ?? null),
    put: (key, value) => Promise.resolve(void kept.set(key, value)),
    list: (prefix) => Promise.resolve(new Map([...kept].filter(([key]) => key.startsWith(prefix)))),
    delete: (key) => Promise.resolve(void kept.delete(key)),
  };
}

interface LeadArgs {
  /** What an earlier lead has noted of the receivers; null: there was none. */
  readonly known: unknown;
  readonly isPassed?: () => boolean;
}

function lead({ known, isPassed = () => false }: LeadArgs) {
  const store = newStore();
  const service = fakeService(Date.now, PRODUCTS);
  const receiver = { life: 'first', backlog: 0, backlogAgeMs: 0 };
  const engine: Pick<Engine, 'keepHistory' | 'presence' | 'state'> = {
    keepHistory: () => Promise.resolve(true),
    presence: notes({ 'receiver.a': receiver }),
    state: notes(known === null ? {} : { receivers: known }),
  };
  const connection = {
    client: { ...service, close: () => Promise.resolve() },
    tokens: { releaseLatch: () => Promise.resolve() },
  } as unknown as ServiceConnection;
  const stopping = new AbortController();
  const leading = leadWith(
    {
      config: {
        ...READING_CONFIG,
        retentionDays: 30,
      },
      engine: engine as Engine,
      store,
      fitness: {
        isUpToDate: true,
        get isPassed() {
          return isPassed();
        },
      },
      replicator: {
        get standing() {
          return { epoch: 'e', lastSeq: store.writer.lastSeq, cursor: null };
        },
        get state() {
          return { upToDateAtMs: performance.now(), trouble: null, need: null };
        },
      },
      makeSnapshot: () => Promise.resolve(null),
      clock: { now: Date.now },
      monitor: new Monitor(),
      log,
      platform: { connect: () => connection, random: () => 0.5 },
      members: () => ({ receivers: new Map(), replicas: new Map() }),
      onReading: () => undefined,
    },
    stopping.signal,
  );
  onTestFinished(async () => {
    stopping.abort();
    await leading.catch(() => undefined);
  });
  leading.catch(() => undefined);
  return {
    store,
    service,
    leading,
    stop: () => stopping.abort(),
    runs: () => store.rows<{ kind: string }>('SELECT kind FROM runs'),
  };
}

describe('a lead whose mirror was never read whole', () => {
  const stayed = {
    listenedAtMs: Date.now(),
    receivers: { a: { life: 'first', seenAtMs: Date.now(), isEnded: false } },
  };

  test.each([
    ['no lead before it knew the receivers', null],
    ['the receivers have stayed, and a new history has begun', stayed],
  ])('reads the catalogue once: %s', async (_, known) => {
    const { service, runs } = lead({ known });
    await vi.waitFor(() => expect(service.asked).toEqual(expect.arrayContaining(PRODUCTS)), 10_000);
    expect(runs()).toEqual([{ kind: 'initial' }]);
  });
});

test('it makes way for one that has what the engine has lost', async () => {
  let isPassed = false;
  const { leading, service } = lead({ known: null, isPassed: () => isPassed });
  await vi.waitFor(() => expect(service.asked.length).toBeGreaterThan(0), 10_000);
  isPassed = true;
  await expect(leading).rejects.toThrow('it leads next');
});

test('it ends without an error when it is told to', async () => {
  const { leading, service, stop } = lead({ known: null });
  await vi.waitFor(() => expect(service.asked.length).toBeGreaterThan(0), 10_000);
  stop();
  await expect(leading).resolves.toBeUndefined();
});
