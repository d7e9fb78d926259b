/** The store's side of a measurement, in a process of its own: the simulated store, and the load. */
import { Worker } from 'node:worker_threads';
import { startSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import { present } from '../../../test/shared/present.ts';
import { CatalogueLevels } from '../catalogue.ts';
import { prepareDeliveries, type StockLevels, type PreparedDelivery } from '../deliveries.ts';
import { growProduct } from '../../shared/large-product.ts';
import { differences } from '../equality.ts';
import { distributionOf } from '../distribution.ts';
import { FilledLevels } from '../fill.ts';
import { seeded } from '../random.ts';
import { watchChanges } from '../watch-changes.ts';
import type { FromSender, SendOrder } from './send-thread.ts';
import type { Answers, Requests } from '../upstream.ts';

/** More than any part has under way at once. */
const APART = 1_000;

let sandbox: Sandbox | null = null;
let levels: StockLevels | null = null;
let prepared: PreparedDelivery[] = [];
let packed: Pick<SendOrder, 'bytes' | 'ends'> = { bytes: new SharedArrayBuffer(0), ends: [] };
let serial = 0;

/** In memory that threads share. */
function pack(deliveries: readonly PreparedDelivery[]): Pick<SendOrder, 'bytes' | 'ends'> {
  const bytes = new SharedArrayBuffer(deliveries.reduce((sum, { request }) => sum + request.byteLength, 0));
  const all = Buffer.from(bytes);
  let end = 0;
  const ends = deliveries.map(({ request }) => {
    request.copy(all, end);
    end += request.byteLength;
    return end;
  });
  return { bytes, ends };
}

type Done = Extract<FromSender, { type: 'done' }>;

/** @param onSent called every few milliseconds with how many have gone out. */
function sendBeside(order: SendOrder, onSent: (count: number) => void): Promise<Done> {
  const worker = new Worker(new URL('send-thread.ts', import.meta.url), { workerData: order });
  return new Promise((resolve, reject) => {
    worker.on('message', (message: FromSender) => {
      if (message.type === 'sent') onSent(message.count);
      else if (message.type === 'done') resolve(message);
      else reject(new Error(message.error));
    });
    worker.once('error', reject);
  });
}

const handlers: {
  [Name in keyof Requests]: (args: Requests[Name]) => Promise<Answers[Name]> | Answers[Name];
} = {
  async serve({ products, latencyMs }) {
    sandbox ??= await startSandbox({ products, tokenLifetimeS: 86_400 });
    sandbox.reads.latencyMs = { min: latencyMs, max: latencyMs };
    const { baseUrl, clientId, clientSecret, webhookSecret, truth } = sandbox;
    const found = new CatalogueLevels(truth);
    levels = found;
    return {
      baseUrl,
      clientId,
      clientSecret,
      webhookSecret,
      levels: found.count,
      products: truth.products.length,
    };
  },
  change({ levels: count }) {
    if (!(levels instanceof CatalogueLevels)) throw new Error('no catalogue is served');
    const step = Math.max(1, Math.floor(levels.count / count));
    for (let i = 0; i < Math.min(count, levels.count); i += 1) levels.set(i * step, levels.qty(i * step) + 1);
    return null;
  },
  grow({ variants, warehouses }) {
    const [product] = sandbox?.truth.products ?? [];
    if (sandbox === null || product === undefined) throw new Error('no catalogue is served');
    return { productId: growProduct(sandbox, { productId: product.id, variants, warehouses }).productId };
  },
  compare({ databasePath, known }) {
    if (sandbox === null) throw new Error('no catalogue is served');
    return { different: differences(databasePath, sandbox.truth, known) };
  },
  fill({ levels: count }) {
    levels = new FilledLevels(count);
    return null;
  },
  prepare({ count, secret, startMs, everyMs }) {
    serial += 1;
    const label = `bench-${process.pid}-${serial}`;
    const recipe = { count, secret, startMs, everyMs, apart: APART, label };
    prepared = prepareDeliveries(present(levels), recipe, seeded(serial));
    packed = pack(prepared);
    return null;
  },
  async send({ url, connections, perSecond, isTrue, watch }) {
    const target = isTrue ? levels : null;
    const watched = watch === undefined ? null : watchChanges(watch);
    let known = 0;
    const sent = await sendBeside({ url, connections, perSecond, ...packed }, (count) => {
      for (; known < count; known += 1) {
        for (const { level, qty } of prepared[known]?.sets ?? []) target?.set(level, qty);
      }
    });
    const visible = watched === null ? null : distributionOf(await watched.delays(prepared, sent.dueAtMs));
    return { tookMs: sent.tookMs, refused: sent.refused, answers: distributionOf(sent.answerMs), visible };
  },
};

process.on('message', ({ id, name, args }: { id: number; name: keyof Requests; args: never }) => {
  void (async () => {
    try {
      process.send?.({ id, value: await Promise.resolve(handlers[name](args)) });
    } catch (error) {
      process.send?.({
        id,
        error: error instanceof Error ? (error.stack ?? error.message) : String(error),
      });
    }
  })();
});
