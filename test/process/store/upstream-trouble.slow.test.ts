import { expect, test } from 'vitest';
import {
  eventually,
  plainVariants,
  rows,
  type RunningMirror,
  startBoth,
  throughout,
  untilDelivered,
  untilEqual,
  untilPastReads,
  untilRunEnds,
} from '../harness.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';

const asked = (sandbox: Sandbox): number =>
  Object.values(sandbox.requests).reduce((sum, count) => sum + count, 0);

const blockedKind = async (mirror: RunningMirror): Promise<string | null> => {
  const { body } = await mirror.get('/api/status');
  return (body['blocked'] as { kind: string } | null)?.kind ?? null;
};

for (const [name, fault] of [['answers 500', { serverError: 1 }]] as const) {
  test.concurrent(
    `a service that ${name} is asked ever less, and what is due is read when it is back`,
    async (t) => {
      const { sandbox, mirror } = await startBoth(t, { products: 40 });
      await untilPastReads(mirror, sandbox);
      Object.assign(sandbox.reads.fail, fault);
      const before = asked(sandbox);
      const { body } = await mirror.post('/api/resync', {});
      const [level, other] = plainVariants(sandbox, 2);
      sandbox.network.loseNext(1);
      sandbox.operations.reserve([level, other].map((line) => ({ ...line, qty: 1 })));
      sandbox.operations.add({ ...level, by: 2 });
      await untilDelivered(mirror, sandbox);
      expect(sandbox.deliveries.records.at(-1)).toMatchObject({ status: 204 });

      await eventually(async () => (await blockedKind(mirror)) === 'breaker', { what: 'the breaker opens' });
      await throughout(5_000, () => {
        expect(asked(sandbox) - before).toBeLessThan(40);
      });
      expect(asked(sandbox) - before).toBeGreaterThan(5);

      Object.assign(sandbox.reads.fail, { serverError: 0, reset: 0 });
      expect(await untilRunEnds(mirror, Number(body['run_id']))).toMatchObject({ state: 'done', failed: 0 });
      await untilEqual(mirror, sandbox);
      expect(await blockedKind(mirror)).toBeNull();
      expect(rows(mirror.databasePath, 'SELECT * FROM read_failures')).toEqual([]);
    },
  );
}
