/**
 * One store and its mirror, led from one state into the next for pictures: calm, a resync under way, blocked, and after
 * downtime. A week lies behind them.
 */
import { join } from 'node:path';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { signBody } from '../../src/store-api/signature.ts';
import {
  MIRROR_FILE,
  plainVariants,
  startMirror,
  startService,
  statusOf,
  temporaryFolder,
  untilLive,
  untilPastReads,
  untilQuiet,
  type Environment,
  type Owner,
  type RunningMirror,
} from '../process/harness.ts';
import { eventually } from '../process/wait.ts';
import { clientOf } from '../sandbox/harness.ts';
import { present } from '../shared/present.ts';
import { noteWeek } from './history.ts';

export const SCENES = ['calm', 'resync', 'blocked', 'downtime'] as const;
type Scene = (typeof SCENES)[number];

interface Stage {
  readonly sandbox: Sandbox;
  /** Each page of the mirror, by name. */
  mirrorPages(): Promise<Readonly<Record<string, string>>>;
  /** Each page of the simulated store. */
  storePages(): Readonly<Record<string, string>>;
  /** What a scene shows does not last for ever: it may be begun again. */
  begin(scene: Scene): Promise<void>;
}

/** Reads take so long while a state is to last. */
const SLOW_MS = 4_000;
/** A mirror that was silent for so long reads every product again. */
const SILENCE_MS = 6_000;

export async function setStage(test: Owner, products: number): Promise<Stage> {
  const sandbox = await startService(test, { products });
  const folder = temporaryFolder(test);
  // A usual ceiling, but for a catalogue that would keep the pictures waiting.
  const usual: Environment = { SERVICE_MAX_RPS: String(Math.max(50, products / 5)) };
  // Before the first start: a second one would read everything again.
  const levels = sandbox.truth.variants.flatMap((variant) => variant.levels).length;
  await noteWeek(join(folder, MIRROR_FILE), Date.now(), levels);
  let mirror = await startMirror(test, sandbox, { folder, env: usual });
  const { databasePath, opsUrl } = mirror;

  const [first, second, third] = plainVariants(sandbox, 3);
  const start = async (env: Environment = {}): Promise<void> => {
    const fixed = { OPS_PORT: new URL(opsUrl).port };
    mirror = await startMirror(test, sandbox, {
      folder,
      env: { ...usual, ...fixed, ...env },
    });
  };
  const untilCalm = async (): Promise<void> => {
    sandbox.reads.latencyMs = { min: 0, max: 0 };
    await untilLive(mirror);
    await eventually(
      async () => {
        const { body } = await mirror.get('/api/status');
        return statusOf(databasePath).suspect_count === 0 && body['condition'] === 'live';
      },
      { what: 'calm' },
    );
    await untilQuiet(mirror, sandbox);
  };
  const untilNext = async (condition: string): Promise<void> => {
    await eventually(async () => (await mirror.get('/api/status')).body['condition'] === condition, {
      what: condition,
    });
  };

  await untilCalm();
  await sell(sandbox, mirror);
  await untilCalm();

  const scenes: Record<Scene, () => Promise<void>> = {
    calm: untilCalm,
    resync: async () => {
      await untilCalm();
      sandbox.reads.latencyMs = { min: 700, max: 700 };
      await mirror.post('/api/resync', {});
      await eventually(
        async () => {
          const { body } = await mirror.get('/api/runs');
          const [run] = body['runs'] as { state: string; done: number }[];
          return run?.state === 'running' && run.done > 0;
        },
        { what: 'the run is on its way' },
      );
      sandbox.reads.latencyMs = { min: SLOW_MS, max: SLOW_MS };
    },
    blocked: async () => {
      await mirror.stop();
      await start({ SERVICE_CLIENT_SECRET: 'not-the-secret-of-this-app' });
      sandbox.operations.add({ ...second, by: 4 });
      await untilNext('blocked');
    },
    downtime: async () => {
      await mirror.stop();
      const stoppedMs = Date.now();
      for (const [index, level] of [first, second, third].entries())
        sandbox.operations.add({ ...level, by: 2 + index });
      await eventually(() => Date.now() - stoppedMs > SILENCE_MS, {
        what: 'a silence',
      });
      await sandbox.network.idle();
      sandbox.reads.latencyMs = { min: SLOW_MS, max: SLOW_MS };
      await start();
      await untilNext('catching_up');
    },
  };

  const client = await clientOf(sandbox);
  await client('/v1/order/create', { shipping_type: 'flash', products: [{ sku: 'ไม่มี-SKU', qty: 1 }] });
  return {
    sandbox,
    mirrorPages: async () => {
      const { runs } = (await mirror.get('/api/runs')).body as { runs: { run_id: number }[] };
      const pages = {
        overview: '/',
        quarter: '/?span=quarter',
        day: '/?span=day',
        week: '/?span=week',
        stock: '/stock',
        suspects: '/stock?suspect=1',
        variant: `/variants/${first.variantId}`,
        deliveries: '/deliveries',
        delivery: `/deliveries/${await latestDelivery(mirror)}`,
        dead_letters: '/deliveries?show=dead-letters',
        runs: '/runs',
        run: `/runs/${present(runs[0]).run_id}`,
      };
      return Object.fromEntries(Object.entries(pages).map(([name, path]) => [name, opsUrl + path]));
    },
    storePages: () => ({
      store: sandbox.baseUrl,
      search: `${sandbox.baseUrl}/?q=${encodeURIComponent('แดง')}`,
      calls: `${sandbox.baseUrl}/calls`,
      call: `${sandbox.baseUrl}/calls/${present(sandbox.calls.recent[0]).id}`,
      webhook: `${sandbox.baseUrl}/webhooks/${present(sandbox.deliveries.records.at(-1)).delivery.requestId}`,
    }),
    begin: (scene) => scenes[scene](),
  };
}

/** Sales, orders, a loss that is repaired, and strangers at the door: something to see on each page. */
async function sell(sandbox: Sandbox, mirror: RunningMirror): Promise<void> {
  await untilPastReads(mirror, sandbox);
  const levels = plainVariants(sandbox, 6);
  const [first, second] = levels;
  for (const [index, by] of [12, -3, -4, 20, -6, -2, 35, -18, -5, 9].entries()) {
    sandbox.operations.add({ ...first, by });
    sandbox.operations.add({ ...present(levels[index % levels.length]), by: 3 + index });
  }
  for (const shipping_type of ['flash', 'kex'] as const) {
    sandbox.orderDesk.place(
      {
        shipping_type,
        products: [{ product_variant_id: first.variantId, qty: 1 }],
        recipient_address: { name: 'สมชาย ใจดี' },
      },
      sandbox.clientId,
    );
  }
  await sandbox.network.idle();
  sandbox.network.loseNext(1);
  sandbox.operations.reserve([first, second].map((level) => ({ ...level, qty: 2 })));
  sandbox.operations.add({ ...first, by: -1 });
  await sandbox.network.idle();
  const body = Buffer.from(JSON.stringify({ request_id: 'stranger' }));
  for (const headers of [{}, { 'x-service-signature': signBody('another-secret', body) }]) {
    await fetch(mirror.webhookUrl, { method: 'POST', headers, body });
  }
}

/** Its number in the event log. Reads stand between deliveries there, so a page of the list may be empty. */
async function latestDelivery(mirror: RunningMirror): Promise<number> {
  let after = '';
  for (;;) {
    const { body } = await mirror.get(`/api/deliveries${after}`);
    const [delivery] = body['deliveries'] as { log_seq: number }[];
    if (delivery !== undefined) return delivery.log_seq;
    if (body['has_more'] !== true) throw new Error('no delivery is in the event log');
    after = `?after=${String(body['next'])}`;
  }
}
