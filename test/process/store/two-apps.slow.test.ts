/** Two mirrors of one store that know nothing of each other: an app for each (docs/beyond-one-machine.md). */
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { present } from '../../shared/present.ts';
import {
  eventually,
  resync,
  rows,
  startMirror,
  startService,
  statusOf,
  throughout,
  untilEqual,
  untilLive,
  untilQuiet,
  type RunningMirror,
} from '../harness.ts';

const epochOf = ({ databasePath }: RunningMirror): string =>
  present(rows<{ epoch: string }>(databasePath, 'SELECT epoch FROM mirror_status')[0]).epoch;

test.concurrent(
  'of two mirrors with an app each, one goes on while the other is down, and both end right',
  async (t) => {
    const sandbox = await startService(t, { products: 60 });
    const app = present(sandbox.apps.add('second'));
    const env = {
      SERVICE_CLIENT_ID: app.clientId,
      SERVICE_CLIENT_SECRET: app.clientSecret,
      SERVICE_WEBHOOK_SECRET: app.webhookSecret,
    };
    const first = await startMirror(t, sandbox);
    let second = await startMirror(t, sandbox, { env });
    // Starting one points the webhooks of the first app at it.
    const point = (): void => {
      sandbox.webhookUrl = first.webhookUrl;
      app.network.webhookUrl = second.webhookUrl;
    };
    point();
    await Promise.all([untilLive(first), untilLive(second)]);
    expect(epochOf(second)).not.toBe(epochOf(first));

    const networks = [sandbox.network, app.network];
    for (const network of networks) {
      Object.assign(network, { concurrency: 8, loss: 0.05, duplicate: 0.05, reorder: 0.05 });
    }
    sandbox.traffic.start(40);
    const taken = ({ databasePath }: RunningMirror): number =>
      present(rows<{ seq: number }>(databasePath, `SELECT last_seq AS seq FROM mirror_status`)[0]).seq;
    await eventually(() => taken(first) > 500 && taken(second) > 500, { what: 'both take changes' });
    await second.kill();
    const atKill = taken(first);
    await throughout(3_000, () => expect(statusOf(first.databasePath).state).toBe('live'));
    expect((await first.get('/readyz')).status).toBe(200);
    expect(taken(first)).toBeGreaterThan(atKill);
    sandbox.traffic.stop();
    for (const network of networks) Object.assign(network, { loss: 0, duplicate: 0, reorder: 0 });
    await untilQuiet(first, sandbox);
    // A last webhook that is lost shows in nothing.
    await resync(first);
    await untilEqual(first, sandbox);

    second = await startMirror(t, sandbox, { folder: dirname(second.databasePath), env });
    point();
    sandbox.traffic.start(40);
    const before = [taken(first), taken(second)] as const;
    await eventually(() => taken(first) > before[0] + 100 && taken(second) > before[1] + 100, {
      what: 'both take changes again',
    });
    sandbox.traffic.stop();
    await app.network.idle();
    await Promise.all([untilLive(first), untilLive(second)]);
    await Promise.all([untilQuiet(first, sandbox), untilQuiet(second, sandbox)]);
    await resync(second);
    for (const mirror of [first, second]) await untilEqual(mirror, sandbox);

    // Numbers do not carry over: a reader of one that comes to the other is told to start over.
    const { status, body } = await second.get(`/api/changes?epoch=${epochOf(first)}&after=1`);
    expect([status, body['error']]).toEqual([409, 'epoch_changed']);
    expect((await first.get(`/api/changes?epoch=${epochOf(first)}&after=1`)).status).toBe(200);
  },
);
