/**
 * Restarts while another process holds the socket, like a systemd socket unit
 * (docs/architecture.md#start-and-stop).
 */
import { expect, test } from 'vitest';
import {
  eventually,
  notKept,
  proveWayIn,
  startService,
  temporaryFolder,
  untilAtRest,
  untilLive,
  untilNone,
  type Json,
} from '../harness.ts';
import { startLoad } from '../load.ts';
import { holdSocket, linesOf, type SocketUnit } from './socket-unit.ts';

const RESTARTS = 2;

function missedAtStarts(log: readonly Json[]): readonly Json[] {
  let isListening = false;
  return log.filter(({ msg }) => {
    if (msg === 'listening' || msg === 'stopped') isListening = msg === 'listening';
    return !isListening && String(msg).startsWith('deliveries may have been missed');
  });
}

async function restart(unit: SocketUnit): Promise<void> {
  await unit.stop();
  // Waits in the socket for the next process.
  const health = fetch(`http://127.0.0.1:${unit.port}/healthz`);
  await unit.start();
  // A busy machine may answer 503, which is an answer too.
  expect([200, 503]).toContain((await health).status);
}

test('stores each delivery over restarts while another process holds the socket', async (t) => {
  const sandbox = await startService(t, { products: 20, ackTimeoutMs: 60_000 });
  // A slow disk could take longer than a stop may.
  const unit = await holdSocket(t, sandbox, temporaryFolder(t));
  const { databasePath, port } = unit;
  await unit.start();
  await proveWayIn(`http://127.0.0.1:${port}/webhooks`, sandbox.webhookSecret);
  await untilLive(unit);
  expect(linesOf(unit.log, 'listening')[0]).toMatchObject({
    webhooks: `http://127.0.0.1:${port}/webhooks`,
  });

  const load = startLoad(t, sandbox, 60);
  for (let n = 0; n < RESTARTS; n += 1) {
    const settled = load.settled.length;
    await eventually(() => load.settled.length > settled + 60, { what: 'load' });
    await restart(unit);
  }
  const settled = load.settled.length;
  await eventually(() => load.settled.length > settled + 60, { what: 'load' });
  load.stop();
  await sandbox.network.idle();

  expect(unit.stderr).toBe('');
  expect(linesOf(unit.log, 'stopped')).toHaveLength(RESTARTS);
  expect(missedAtStarts(unit.log)).toEqual([]);
  const sent = sandbox.deliveries.records;
  expect(sent.length).toBeGreaterThan(180);
  await untilNone(
    () =>
      notKept(
        databasePath,
        sent.filter(({ status }) => status === 204),
      ),
    { what: 'every delivery is stored' },
  );
  await untilAtRest(unit, sandbox);
});
