/** examples/push sends events to a receiver that is killed under load, and is killed itself. */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { watch, type RunningCommand } from '../cli/harness.ts';
import { startLoad } from '../process/load.ts';
import {
  eventually,
  plainVariants,
  resync,
  rows,
  startBoth,
  startMirror,
  statusOf,
  untilQuiet,
} from '../process/harness.ts';
import { freePort } from '../shared/free-port.ts';
import { present } from '../shared/present.ts';
import { exampleCopy } from './example-copy.ts';
import { kill } from './postgres.ts';

interface Change {
  readonly seq: number;
  readonly variant_id: string;
  readonly warehouse_id: string | null;
  readonly old_qty: number | null;
  readonly new_qty: number | null;
}
interface Event {
  readonly id: string;
  readonly event: { readonly type: string; readonly data: Change };
}

const linesOf = (receivers: readonly RunningCommand[]): Event[] =>
  receivers.flatMap(({ stdout }) =>
    stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Event),
  );

const hasPosition = (path: string): boolean => rows(path, 'SELECT 1 FROM position').length > 0;

/** The ids of the events that three filters make of the changes. */
function idsOf(epoch: string, changes: readonly Change[]): string[] {
  return changes.flatMap(({ seq, old_qty: old, new_qty: now }) => {
    const isLow = (old === null || old > 4) && (now === null || now <= 4);
    const isBack = (old === null || old <= 0) && now !== null && now > 0;
    return [...(isLow ? ['low'] : []), ...(isBack ? ['back'] : []), 'changed'].map(
      (type) => `stock-${type}-${epoch}-${seq}`,
    );
  });
}

test('delivers each event in the order of its level through kill -9 of receiver and sender', async (t) => {
  const OPS_PORT = String(await freePort());
  const { sandbox, mirror: first } = await startBoth(t, {}, { env: { OPS_PORT } });
  let mirror = first;
  const path = mirror.databasePath;
  const port = String(await freePort());
  const secret = `whsec_${randomBytes(24).toString('base64')}`;
  const receivers: RunningCommand[] = [];
  const receive = (): void => {
    const file = join(import.meta.dirname, 'receiver.ts');
    receivers.push(watch(spawn(process.execPath, [file, port, secret])));
  };
  const cwd = exampleCopy(t, 'push');
  const env = {
    STOCK_MIRROR_URL: `http://127.0.0.1:${OPS_PORT}`,
    PUSH_URL: `http://127.0.0.1:${port}/`,
    PUSH_SECRET: secret,
    PUSH_EVENTS: 'low:4,back,changed',
  };
  const push = (): RunningCommand => watch(spawn(process.execPath, ['push.ts'], { cwd, env }));
  const has = (ids: readonly string[]): boolean => {
    const known = new Set(linesOf(receivers).map(({ id }) => id));
    return ids.every((id) => known.has(id));
  };
  const changesAfter = (seq: number): Change[] =>
    rows(path, 'SELECT * FROM mirror_changes WHERE seq > ? ORDER BY seq', seq);

  const { epoch, last_seq: began } = statusOf(path);
  receive();
  let sender = push();
  await eventually(() => hasPosition(join(cwd, 'push-state.db')), { what: 'its first position' });
  const [one] = plainVariants(sandbox, 1);
  const load = startLoad(t, sandbox, 100);
  const untilMore = async (): Promise<void> => {
    const before = linesOf(receivers).length;
    await eventually(() => linesOf(receivers).length > before + 50, { what: 'more events' });
  };
  await untilMore();
  await kill(present(receivers[0]));
  // The pauses between the attempts grow; the load goes on.
  await eventually(() => sender.stderr.split('not accepted').length > 4, { what: 'failed attempts' });
  receive();
  await untilMore();
  await kill(sender);
  sender = push();
  await untilMore();
  load.stop();
  for (const to of [0, 9]) {
    sandbox.operations.adjust({ ...one, to });
    await untilQuiet(mirror, sandbox);
  }
  const ids = idsOf(epoch, changesAfter(began));
  await eventually(() => has(ids), { what: 'every event' });
  const events = linesOf(receivers);
  expect(new Set(events.map(({ id }) => id))).toEqual(new Set(ids));
  expect(ids.some((id) => id.includes('low')) && ids.some((id) => id.includes('back'))).toBe(true);
  expect(receivers.map(({ stderr }) => stderr).join('')).toBe('');
  // In order, but for repetitions.
  const seen = new Set<string>();
  const firsts = events.filter(({ id }) => !seen.has(id) && seen.add(id));
  const levelOf = ({ event: { data } }: Event): string => `${data.variant_id}:${data.warehouse_id ?? ''}`;
  for (const level of Map.groupBy(firsts, levelOf).values()) {
    const numbers = level.map(({ event }) => event.data.seq);
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
  }

  // The mirror has lost its file: each level is pushed as it is, once the store was read.
  await mirror.stop();
  for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
  sandbox.reads.intercept = () => Promise.resolve({ status: 500, body: {} });
  mirror = await startMirror(t, sandbox, { folder: dirname(path), env: { OPS_PORT } });
  await eventually(() => sender.stderr.includes('has not read the whole store'), { what: 'it waits' });
  expect(linesOf(receivers)).toHaveLength(events.length);
  sandbox.reads.intercept = null;
  await resync(mirror);
  await untilQuiet(mirror, sandbox);
  const levels = rows<Change>(
    path,
    'SELECT change_seq AS seq, NULL AS old_qty, available_qty AS new_qty FROM mirror_sellable',
  );
  const restarted = idsOf(statusOf(path).epoch, levels);
  await eventually(() => has(restarted), { what: 'every level' });
  sandbox.operations.add({ ...one, by: 1 });
  await untilQuiet(mirror, sandbox);
  const after = idsOf(statusOf(path).epoch, changesAfter(Math.max(...levels.map(({ seq }) => seq))));
  await eventually(() => has(after), { what: 'it follows the new epoch' });
  expect(after.length).toBeGreaterThan(0);
});
