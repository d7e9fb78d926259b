/** Every face of the mirror shows one state, one first cause and one count, whatever happens (docs/operating.md#states). */
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { Reporting } from '../../../src/receiver/reporting.ts';
import { CAUSES, type CauseCode } from '../../../src/ops/state/causes.ts';
import { createRandom } from '../../../src/sandbox/world/random.ts';
import type { Blocked } from '../../../src/store-api/blocked.ts';
import { missedAt } from '../../core/builders.ts';
import { delivery, detail, item, readInput } from '../../mirror/mirror-file.ts';
import { valueOf } from '../metrics/exposition.ts';
import { heartbeat } from '../reported.ts';
import { quick } from '../watched.ts';
import { printed, startMirror } from './mirror.ts';

const MOMENTS = 1_000;
const AHEAD_MS = 9_000;

afterEach(() => {
  vi.unstubAllEnvs();
});

interface Verdict {
  readonly state: string;
  readonly cause: string | null;
  /** Trusted quantities. */
  readonly count: number;
}

type Causes = readonly { readonly code: string; readonly severity: string }[];

/** The first cause of the state, as a reader of the causes finds it. */
function firstOf(state: string, causes: Causes): string | null {
  if (state === 'live') return null;
  const isOfState = ({ code, severity }: Causes[number]): boolean =>
    state === 'stale' ? severity === 'critical' : ['unproven', 'first_read', 'downtime'].includes(code);
  return causes.find(isOfState)?.code ?? null;
}

interface ShownStatus {
  readonly state: string;
  readonly causes: Causes;
  readonly sellable: { readonly trusted: number };
}

function verdictOf({ state, causes, sellable }: ShownStatus): Verdict {
  return { state, cause: firstOf(state, causes), count: sellable.trusted };
}

async function startFaces() {
  const mirror = await startMirror(quick);
  const { facts, databases, monitor, sampler, watch, ops } = mirror;

  const sql = (): Verdict =>
    databases.rows<Verdict>(
      'SELECT state, state_cause AS cause, (SELECT total(trusted) FROM mirror_sellable) AS count FROM mirror_status',
    )[0] as Verdict;
  const api = async (): Promise<Verdict> => {
    const { json } = await ops.ask('/api/status');
    return verdictOf(json as never);
  };
  const command = async (): Promise<Verdict> =>
    verdictOf(JSON.parse(await printed(mirror, '--json')) as never);
  const page = async (): Promise<Verdict> => {
    const { text } = await ops.ask('/');
    const causes = [...text.matchAll(/<article id="cause-(\w+)" class="(\w+)">/g)].map(
      ([, code = '', severity = '']) => ({ code, severity }),
    );
    const state = /<span class="state (\w+)" role="status">/.exec(text)?.[1] ?? '';
    const words = text.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');
    const count = Number(/Can be sold now (\d+) of/.exec(words)?.[1]);
    return { state, cause: firstOf(state, causes), count };
  };
  const metrics = async (): Promise<Verdict> => {
    // Metrics show the latest sample.
    await sampler.status();
    const text = await monitor.registry.metrics();
    const held = (name: string, label: string): string[] =>
      [...text.matchAll(new RegExp(`^stock_mirror_${name}\\{${label}="(\\w+)"\\} 1$`, 'gm'))].map(
        ([, value = '']) => value,
      );
    const [state = ''] = held('state', 'state');
    // Alert rules have the severity from this table.
    const causes = (held('cause', 'code') as CauseCode[]).map((code) => ({
      code,
      severity: CAUSES[code].severity,
    }));
    return {
      state,
      cause: firstOf(state, causes),
      count: Number(valueOf(text, 'stock_mirror_sellable{trusted="1"}')),
    };
  };
  const feed = async (): Promise<Verdict> => {
    const { json } = await ops.ask('/api/changes?trust=1&limit=1');
    const { trust } = json as {
      readonly trust: { state: string; cause: string | null; untrusted_count: number };
    };
    const [row] = databases.rows<{ untrusted: number }>(
      'SELECT count(*) AS untrusted FROM mirror_sellable WHERE trusted = 0',
    );
    expect(trust.untrusted_count).toBe(row?.untrusted);
    return { state: trust.state, cause: trust.cause, count: sql().count };
  };

  const reporting = new Reporting(() => facts.nowMs);
  const beat = (): Promise<void> => {
    monitor.receive(heartbeat(facts.nowMs, reporting.report(0, null)));
    reporting.written();
    return watch.beat(Date.now() + AHEAD_MS);
  };
  const read = async (productId: string, qty: number): Promise<void> => {
    await databases.mirror.append(
      readInput(productId, detail(productId, [{ id: `${productId}0`, levels: { 1: qty } }]), {
        sentAtMs: (facts.nowMs += 3_000),
      }),
    );
    // A later instant without a heartbeat would be a mirror that hangs.
    await beat();
  };
  const refuse = (id: string): void =>
    reporting.refused({
      reason: 'wrong_signature',
      status: 401,
      tookMs: 1,
      body: delivery('x', item({ id })),
    });
  let requests = 0;
  const block = (kind: Blocked['kind'] | null): void => {
    facts.blocked = kind === null ? null : { kind, message: 'no answer', sinceMs: 0 };
  };
  const happenings: readonly ((random: (below: number) => number) => unknown)[] = [
    beat,
    beat,
    beat,
    beat,
    () => databases.change(`UPDATE mirror_state SET way_in = 'proven'`),
    () => databases.change(`UPDATE mirror_state SET way_in = 'missing'`),
    () => databases.change(`UPDATE mirror_state SET way_in = 'unproven'`),
    () => refuse('10'),
    () => refuse('999'),
    () => block('credentials'),
    () => block('breaker'),
    () => block(null),
    () => block(null),
    () => databases.mirror.append(missedAt(facts.nowMs)),
    (random) => read(String(1 + random(3)), random(9)),
    (random) => read(String(1 + random(3)), random(9)),
    () => databases.requestReads(facts.nowMs, 'not_stored', { productIds: ['2'] }),
    (random) => {
      requests += 1;
      const change = item({ id: '30', old: random(9), new: random(9), update_time: facts.nowMs });
      return databases.deliver(delivery(`r${requests}`, change), facts.nowMs);
    },
    () => (facts.nowMs += 1_000),
    () => databases.change('UPDATE service_state SET last_full_sync_at_ms = 1'),
  ];
  return { sql, faces: { api, command, page, metrics, feed }, happenings, read, beat };
}

test(`all faces agree at ${MOMENTS} moments of a run with faults`, async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const { sql, faces, happenings, read, beat } = await startFaces();
  for (const productId of ['1', '2', '3']) await read(productId, 5);
  await beat();
  const draws = createRandom(7, 'verdict');
  const random = (below: number): number => draws.int(0, below - 1);
  const seen = new Map<string, number>();
  for (let moment = 0; moment < MOMENTS; moment += 1) {
    await happenings[random(happenings.length)]?.(random);
    // The feed computes trust once a second.
    vi.advanceTimersByTime(1_000);
    const expected = sql();
    const names = Object.keys(faces) as (keyof typeof faces)[];
    const name = names[random(names.length)] ?? 'api';
    const found = await faces[name]();
    expect({ moment, name, ...found }).toEqual({ moment, name, ...expected });
    const key = `${expected.state} ${expected.cause}`;
    seen.set(key, (seen.get(key) ?? 0) + 1);
  }
  expect([...seen.keys()].toSorted()).toEqual([
    'catching_up downtime',
    'catching_up first_read',
    'catching_up unproven',
    'live null',
    'stale credentials',
    'stale webhooks_missing',
  ]);
});
