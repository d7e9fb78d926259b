/**
 * One look says what is the matter, whose it is and what to do: page, `status` and log output, in the same words
 * (docs/operating.md#states).
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { Sandbox, SandboxOptions } from '../../../src/sandbox/sandbox.ts';
import { causeLine, capital, ownerWords, type Cause } from '../../../src/ops/condition/cause.ts';
import { stoppedCause } from '../../../src/ops/condition/own-trouble.ts';
import {
  environmentFor,
  eventually,
  startMirror,
  startService,
  untilLive,
  untilQuiet,
  type Environment,
  type Json,
  type Owner,
  type RunningMirror,
} from '../harness.ts';
import { canMount, smallDisk } from '../disk/small-disk.ts';

const CLI = fileURLToPath(new URL('../../../src/cli.ts', import.meta.url));
const MB = 1 << 20;

interface Scene {
  readonly test: Owner;
  readonly sandbox: Sandbox;
  readonly mirror: RunningMirror;
  readonly fillDisk: () => void;
}

interface Row {
  readonly what: string;
  readonly kind: string;
  readonly owner: string;
  readonly cause: RegExp;
  readonly remedy: RegExp;
  readonly blocks: boolean;
  /** Whether the share of certain levels is known, and nothing newer is verified. */
  readonly isUnverified?: boolean;
  readonly env?: Environment;
  readonly options?: SandboxOptions;
  /** Whether there is something to wait for before it happens. */
  readonly isLiveFirst?: boolean;
  readonly needsDisk?: boolean;
  readonly happens?: (scene: Scene) => Promise<void> | void;
}

const UNVERIFIED = 'Nothing newer is verified until the store can be read again.';

const ROWS: readonly Row[] = [
  {
    what: 'a wrong secret',
    kind: 'credentials',
    owner: 'operator',
    cause: /^The store at 127\.0\.0\.1:\d+ refuses the credentials$/,
    remedy: /^correct SERVICE_CLIENT_ID and SERVICE_CLIENT_SECRET and restart/,
    blocks: true,
    env: { SERVICE_CLIENT_SECRET: 'not-the-secret-of-this-app' },
  },
  {
    what: 'a store that is down',
    kind: 'store_down',
    owner: 'store',
    cause: /^The store at 127\.0\.0\.1:\d+ \(ECONNREFUSED\) cannot be read$/,
    remedy: /^nothing here: the mirror asks again by itself/,
    blocks: true,
    isUnverified: true,
    isLiveFirst: true,
    happens: async ({ sandbox, mirror }) => {
      await sandbox.stop();
      expect((await mirror.post('/api/resync', {})).status).toBe(202);
    },
  },
];

test.concurrent.for(ROWS)(
  '$what: cause, owner and remedy on page, in status and in the log',
  async (row, t) => {
    const isAble = row.needsDisk !== true || canMount();
    if (!isAble) {
      t.skip('file systems cannot be mounted here');
      return;
    }
    const sandbox = await startService(t, row.options);
    const disk = row.needsDisk === true ? smallDisk(t, 24 * MB) : null;
    const mirror = await startMirror(t, sandbox, {
      ...(disk === null ? {} : { folder: disk.folder }),
      ...(row.env === undefined ? {} : { env: row.env }),
    });
    if (row.isLiveFirst === true) {
      await untilLive(mirror);
      await untilQuiet(mirror, sandbox);
    }
    await row.happens?.({ test: t, sandbox, mirror, fillDisk: () => disk?.fill() });

    const causesNow = async (): Promise<Cause[]> =>
      (await mirror.get('/api/status')).body['causes'] as Cause[];
    const cause = await eventually(async () => (await causesNow()).find(({ kind }) => kind === row.kind), {
      what: `cause ${row.kind}`,
    });
    expect(cause).toMatchObject({ owner: row.owner });
    expect(cause.cause).toMatch(row.cause);
    expect(cause.remedy).toMatch(row.remedy);

    const sentences = sentencesOf(cause);
    await eventually(
      async () => {
        const page = textOf(await (await fetch(`${mirror.opsUrl}/`)).text());
        const isReserved = page.includes(UNVERIFIED) === (row.isUnverified === true);
        return (
          isReserved &&
          sentences.every((each) => page.includes(each)) &&
          page.includes('Blocked') === row.blocks
        );
      },
      { what: 'the page says it' },
    );
    const status = await statusOf(sandbox, mirror);
    for (const each of sentences) expect(status.stdout).toContain(each);
    expect(status.stdout.includes(UNVERIFIED)).toBe(row.isUnverified === true);
    expect(status.stdout.startsWith('state ')).toBe(true);
    expect(/^state +Blocked: /.test(status.stdout)).toBe(row.blocks);
    expect(status.code).toBe(row.blocks ? 1 : 0);

    const line = await eventually(
      () => mirror.log.find((each) => each['cause'] === row.kind && each['owner'] !== undefined),
      {
        what: 'the log says it',
      },
    );
    expect(line).toMatchObject({ owner: row.owner, msg: causeLine(cause) });
  },
);

test.concurrent(
  'a mirror that is stopped: the same on the page that is open, in status and in the log',
  async (t) => {
    const sandbox = await startService(t);
    const mirror = await startMirror(t, sandbox);
    await untilLive(mirror);
    const page = await (await fetch(`${mirror.opsUrl}/`)).text();
    expect(await mirror.stop()).toEqual({ code: 0, signal: null });

    const cause = stoppedCause(null);
    // What the page's script says once there is no answer.
    const [, silent = ''] = /data-silent="([^"]*)"/.exec(page) ?? [];
    expect(silent).toBe(causeLine(cause));
    expect(mirror.log.some((line: Json) => line['msg'] === causeLine(cause))).toBe(true);
    const status = await statusOf(sandbox, mirror);
    for (const each of sentencesOf(cause)) expect(status.stdout).toContain(each);
    expect(status.stdout).toMatch(/^state +Blocked: The mirror is not running$/m);
    expect(status.code).toBe(1);
  },
);

function sentencesOf(cause: Cause): string[] {
  return [cause.cause, ownerWords(cause), capital(cause.figures), cause.remedy].map((text) =>
    text.replaceAll('`', ''),
  );
}

/** What a person reads on it. */
function textOf(page: string): string {
  return page
    .replace(/<\/?code>/g, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ');
}

async function statusOf(sandbox: Sandbox, mirror: RunningMirror): Promise<{ code: number; stdout: string }> {
  const env = {
    ...environmentFor(sandbox, mirror.databasePath),
    OPS_PORT: new URL(mirror.opsUrl).port,
    PATH: process.env['PATH'] ?? '',
    NO_COLOR: '1',
  };
  const child = spawn(process.execPath, [CLI, 'status'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let stdout = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  const [code] = (await once(child, 'close')) as [number];
  return { code, stdout: stdout.replaceAll('`', '') };
}
