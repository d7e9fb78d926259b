/** A mirror next to an inbox (docs/architecture.md#start). */
import { rmSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { openMirror, realMirror, type OpenMirror } from '../../src/app/mirror.ts';
import { loadConfig } from '../../src/config/config.ts';
import { openInboxWriter } from '../../src/receiver/inbox-writer.ts';
import type { HostTime } from '../../src/platform/host-time.ts';
import { newPath, T0 } from '../mirror/mirror-file.ts';
import { eventually } from '../process/wait.ts';
import { log } from '../reconcile/mirror.ts';
import { REQUIRED_SETTINGS } from '../shared/required-settings.ts';

function mirrorAt(path: string, host: HostTime = realMirror().host): OpenMirror {
  const env = {
    ...REQUIRED_SETTINGS,
    DATABASE_PATH: path,
  };
  const config = loadConfig({ env, cwd: '/nowhere' });
  const mirror = openMirror({
    config,
    log,
    platform: { ...realMirror(), host },
    monitor: { onAnswer: () => undefined },
  });
  onTestFinished(() => mirror.close());
  return mirror;
}

test('a mirror deleted before it read anything is read', async () => {
  const path = newPath();
  openInboxWriter(path).close();
  const { mirror, reconciler } = mirrorAt(path);
  await mirror.tried;
  rmSync(path);
  reconciler.start();
  const runs = () => mirror.ask('runningRuns').catch(() => []);
  await eventually(async () => (await runs()).some(({ kind }) => kind === 'initial'), { what: 'a run' });
});

test('waits for an inbox, and says that a receiver must create it', async () => {
  const path = newPath();
  const { mirror } = mirrorAt(path);
  await mirror.tried;
  expect(mirror.fault).toMatchObject({ kind: 'unreachable' });
  openInboxWriter(path).close();
  const answers = () =>
    mirror.ask('status').then(
      () => true,
      () => false,
    );
  await eventually(answers, { what: 'an answer' });
});

test('opens the file again, in a new epoch, when the clock was ahead and steps back', async () => {
  const path = newPath();
  const inbox = openInboxWriter(path);
  onTestFinished(() => inbox.close());
  const at = { wallMs: T0 + 86_400_000, sinceBootMs: 1_000 };
  const host = {
    wallMs: () => at.wallMs,
    sinceBootMs: () => at.sinceBootMs,
    monotonicMs: () => 0,
    bootId: 'boot',
  };
  /** As the receiver chooses it from its wall clock. */
  const beat = (): void =>
    inbox.append({
      missed: [],
      atMs: at.wallMs,
      arrivals: [],
      position: null,
      heartbeat: {
        aliveAtMs: at.wallMs,
        clockMs: at.wallMs,
        sinceBootMs: at.sinceBootMs,
        bootId: 'boot',
        isStopped: false,
        keptSocket: null,
        unsureSinceMs: null,
        publishedSeq: 0,
        reportJson: '{}',
      },
    });
  beat();
  const { mirror, now, followReceiver } = mirrorAt(path, host);
  await mirror.tried;
  const { epoch: firstEpoch, ...facts } = await mirror.ask('stateFacts', { nowMs: 0 });
  await mirror.command('alive', {
    atMs: at.wallMs,
    clockMs: now(),
    checkedSinceMs: T0,
    epoch: firstEpoch,
    trustedAfterMs: facts.trustedAfterMs,
    wayIn: facts.wayIn,
    state: 'live',
    stateCause: null,
    causesJson: '[]',
  });
  const epoch = async () => (await mirror.ask('status')).epoch;
  const before = await epoch();
  at.wallMs = T0;
  at.sinceBootMs += 1_000;
  beat();
  followReceiver();
  expect(now()).toBe(T0 - 20);
  await eventually(async () => (await epoch().catch(() => before)) !== before, { what: 'a new epoch' });
});
