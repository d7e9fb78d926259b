/** The steps of a rehearsal, and what became of the webhooks of each. */
import { renameSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import type { DeliveryRecord } from '../../src/sandbox/network/deliveries.ts';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { INBOX_FILE } from '../proxies/receivers.ts';
import { startHost, type Host } from './host.ts';
import { Sampler, statusOf, untilEqual, type Seen } from './readers.ts';
import { backupCommand, litestream, type CopyMethod } from './restore.ts';

export interface RehearsalOptions {
  readonly folder: string;
  /** Two versions: folders with `dist/bin.js`. */
  readonly from: string;
  readonly to: string;
  /** Stock changes per second. */
  readonly rate: number;
  readonly products: number;
  /** Litestream, or undefined to leave its step out. */
  readonly litestream: string | undefined;
  readonly onStep: (step: Step) => void;
}

export interface Step extends Seen {
  readonly name: string;
  readonly tookMs: number;
  readonly sent: number;
  /** Without a `204`, but on disk. */
  readonly late: number;
  /** Neither answered nor on disk. */
  readonly lost: number;
}

/** Before and after each act. */
const LOAD_MS = 3_000;

/** @returns the broken promises. */
export async function rehearse(options: RehearsalOptions): Promise<readonly string[]> {
  const { folder, from, to, rate, products, onStep } = options;
  const problems: string[] = [];
  const sandbox = await startSandbox({ products });
  const current = join(folder, 'current');
  const install = (version: string): void => {
    symlinkSync(version, `${current}.new`);
    renameSync(`${current}.new`, current);
  };
  install(from);
  let host = await startHost({ sandbox, current, folder: join(folder, 'host-1') });
  sandbox.webhookUrl = host.webhookUrl;

  const step = async (name: string, act: () => Promise<void>): Promise<void> => {
    const startedAtMs = performance.now();
    const before = sandbox.deliveries.records.length;
    sandbox.traffic.start(rate);
    const sampler = new Sampler(host.databasePath);
    const onHost = host;
    await sleep(LOAD_MS);
    sampler.loaded();
    await act();
    sampler.moved(host.databasePath);
    await sleep(LOAD_MS);
    problems.push(...(await untilEqual(sandbox, host.databasePath)));
    const sent = sandbox.deliveries.records.slice(before);
    const inboxes = [...new Set([onHost, host])].map(({ databasePath }) => databasePath);
    const counts = countsOf(sent, inboxes, problems);
    onStep({ name, tookMs: Math.round(performance.now() - startedAtMs), ...sampler.end(), ...counts });
  };
  const restoreBy = async ({ copy }: CopyMethod, to: string): Promise<void> => {
    const first = host;
    const file = await copy(first);
    const lastSeq = statusOf(file).last_seq;
    await first.end();
    host = await startHost({
      sandbox,
      current,
      folder: join(folder, to),
      prepare: (command) => void command('backup', '--restore', file),
    });
    sandbox.webhookUrl = host.webhookUrl;
    if (statusOf(host.databasePath).last_seq < lastSeq) problems.push(`${to}: change numbers went back`);
  };

  try {
    // Ends `unproven` and the first read.
    sandbox.traffic.start(rate);
    await sleep(LOAD_MS);
    problems.push(...(await untilEqual(sandbox, host.databasePath)));

    await step('the mirror upgraded', async () => {
      install(to);
      await host.mirror.restart();
    });
    await step('the receiver upgraded', async () => {
      await host.receiver.restart();
    });
    await step('back to the version before', async () => {
      install(from);
      await restartBoth(host);
    });
    await step('both upgraded', async () => {
      install(to);
      await restartBoth(host);
    });
    const methods = [backupCommand(folder)];
    if (options.litestream !== undefined) methods.push(litestream(options.litestream, folder));
    for (const [index, method] of methods.entries()) {
      await step(method.name, async () => restoreBy(method, `host-${index + 2}`));
    }
    return problems;
  } finally {
    sandbox.traffic.stop();
    await host.end();
    await sandbox.stop();
  }
}

async function restartBoth({ mirror, receiver }: Host): Promise<void> {
  await mirror.restart();
  await receiver.restart();
}

/** @param problems takes what was answered and is not on disk. */
function countsOf(
  sent: readonly DeliveryRecord[],
  databasePaths: readonly string[],
  problems: string[],
): Pick<Step, 'sent' | 'late' | 'lost'> {
  const stored = new Set(databasePaths.flatMap((path) => bodiesOf(join(dirname(path), INBOX_FILE))));
  let late = 0;
  let lost = 0;
  for (const { status, delivery } of sent) {
    const isStored = stored.has(delivery.body.toString());
    if (status === 204 && !isStored) problems.push(`${delivery.requestId} was answered 204 and is gone`);
    if (status !== 204 && isStored) late += 1;
    if (status !== 204 && !isStored) lost += 1;
  }
  return { sent: sent.length, late, lost };
}

function bodiesOf(path: string): readonly string[] {
  const inbox = new Database(path, { readonly: true });
  try {
    const rows = inbox.prepare<[], { body: Buffer }>('SELECT body FROM inbox').all();
    return rows.map(({ body }) => body.toString());
  } finally {
    inbox.close();
  }
}
