/** A new user's mistakes: no reader trusts a value meanwhile, and the cause is named (docs/operating.md#states). */
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
  type Owner,
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

const CASES: readonly { readonly what: string; readonly cause: string; readonly env: Environment }[] = [
  { what: 'webhook secret', cause: 'webhooks_missing', env: { SERVICE_WEBHOOK_SECRET: 'of another app' } },
  { what: 'client secret', cause: 'credentials', env: { SERVICE_CLIENT_SECRET: 'of another app' } },
];

for (const { what, cause, env } of CASES) {
  test.concurrent(
    `with a wrong ${what} no value is trusted at any time, and the cause is ${cause}`,
    async (t) => {
      const sandbox = await startService(t);
      const folder = temporaryFolder(t);
      const { seen } = watch(t, join(folder, MIRROR_FILE));
      const mirror = await startMirror(t, sandbox, { folder, env });
      const [variant] = plainVariants(sandbox, 1);
      await eventually(
        async () => {
          sandbox.operations.add({ ...variant, by: 1 });
          expect(shownIn(mirror.databasePath)).toEqual({ state: 'stale', cause, trusted: 0 });
          expect((await mirror.get('/readyz')).status).toBe(503);
          return true;
        },
        { what: `the cause is ${cause}` },
      );
      expect([...seen].filter((each) => !UNTRUSTED.has(each))).toEqual([]);
      await mirror.stop();
      const corrected = await startMirror(t, sandbox, { folder });
      await untilAtRest(corrected, sandbox);
    },
  );
}
