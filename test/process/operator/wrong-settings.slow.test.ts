/** A new user's mistakes: no reader trusts a value meanwhile, and all say the same (docs/operating.md#states). */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  eventually,
  MIRROR_FILE,
  plainVariants,
  rows,
  startMirror,
  startService,
  temporaryFolder,
  untilAtRest,
  type Environment,
  type Json,
  type Owner,
  type RunningMirror,
} from '../harness.ts';

interface Shown {
  readonly state: string;
  readonly cause: string | null;
  readonly trusted: number;
}

const LOOK_EVERY_MS = 50;
const UNTRUSTED = new Set(['stale, none trusted', 'catching_up, none trusted']);

const shownIn = (databasePath: string): Shown | undefined =>
  rows<Shown>(
    databasePath,
    `SELECT state, state_cause AS cause, (SELECT count(*) FROM mirror_sellable WHERE trusted = 1) AS trusted
     FROM mirror_status`,
  )[0];

/** Looks as a program on the host does, from before the first start on. */
function watch(test: Owner, databasePath: string): { readonly seen: ReadonlySet<string> } {
  const seen = new Set<string>();
  const look = (): void => {
    try {
      const shown = shownIn(databasePath);
      if (shown !== undefined) seen.add(`${shown.state}, ${shown.trusted === 0 ? 'none' : 'some'} trusted`);
    } catch {
      // There is no mirror yet.
    }
  };
  const timer = setInterval(look, LOOK_EVERY_MS);
  test.onTestFinished(() => clearInterval(timer));
  return { seen };
}

async function everywhere(mirror: RunningMirror): Promise<Json> {
  const { databasePath, opsUrl } = mirror;
  const [status, changes] = [
    await mirror.get('/api/status'),
    await mirror.get('/api/changes?trust=1&limit=1'),
  ];
  const [page, metrics] = await Promise.all(
    ['/', '/metrics'].map(async (path) => (await fetch(opsUrl + path)).text()),
  );
  const [first] = status.body['causes'] as { code: string }[];
  const { state, cause } = changes.body['trust'] as Json;
  return {
    sql: shownIn(databasePath),
    api: [status.body['state'], first?.code],
    ready: (await mirror.get('/readyz')).status,
    feed: [state, cause],
    page: [/id="now" class="(\w+)"/.exec(page ?? '')?.[1], /id="cause-(\w+)"/.exec(page ?? '')?.[1]],
    metrics: /^stock_mirror_state\{state="(\w+)"\} 1$/m.exec(metrics ?? '')?.[1],
  };
}

const CASES: readonly { readonly what: string; readonly cause: string; readonly env: Environment }[] = [
  { what: 'webhook secret', cause: 'webhooks_missing', env: { SERVICE_WEBHOOK_SECRET: 'of another app' } },
  { what: 'client secret', cause: 'credentials', env: { SERVICE_CLIENT_SECRET: 'of another app' } },
];

for (const { what, cause, env } of CASES) {
  test.concurrent(
    `with a wrong ${what} no value is trusted at any time, and all readers say ${cause}`,
    async (t) => {
      const sandbox = await startService(t);
      const folder = temporaryFolder(t);
      const { seen } = watch(t, join(folder, MIRROR_FILE));
      const mirror = await startMirror(t, sandbox, { folder, env });
      const [variant] = plainVariants(sandbox, 1);
      await eventually(
        () => {
          sandbox.operations.add({ ...variant, by: 1 });
          return shownIn(mirror.databasePath)?.cause === cause;
        },
        { what: `the cause is ${cause}` },
      );
      await eventually(
        async () => {
          expect(await everywhere(mirror)).toEqual({
            sql: { state: 'stale', cause, trusted: 0 },
            api: ['stale', cause],
            ready: 503,
            feed: ['stale', cause],
            page: ['stale', cause],
            metrics: 'stale',
          });
          return true;
        },
        { what: 'all readers say so' },
      );
      expect([...seen].filter((each) => !UNTRUSTED.has(each))).toEqual([]);
      await mirror.stop();
      const corrected = await startMirror(t, sandbox, { folder });
      await untilAtRest(corrected, sandbox);
    },
  );
}
