/**
 * `stock-mirror verify`: compares every figure of the store with the mirror's, changing nothing
 * (docs/operating.md#commands).
 */
import { Command, Option } from 'commander';
import { counted } from '../platform/counted.ts';
import { loadConfig, type Config } from '../config/config.ts';
import { connectService } from '../store-api/connect.ts';
import { ago } from './shared/ago.ts';
import { colours } from './shared/colours.ts';
import { EXIT } from './shared/exit-codes.ts';
import { explained } from './shared/explained.ts';
import { productIds, whole } from './shared/flags.ts';
import { interruptible } from './shared/interrupt.ts';
import { openMirrorFile } from './shared/mirror-file.ts';
import { createWorkProgress, type WorkProgress } from './shared/progress.ts';
import { lookAtAll, type Found, type Verdict } from './verify/looks.ts';
import type { WarehouseNames } from '../ops/shared/warehouse-names.ts';
import { MirrorSide } from './verify/mirror-side.ts';
import { ServiceSide } from './verify/service-side.ts';
import { visible } from '../platform/visible.ts';

interface VerifyOptions {
  readonly sample?: number;
  readonly product?: string[];
  readonly json?: boolean;
}

export function verifyCommand(): Command {
  const command = new Command('verify')
    .addOption(
      new Option('--sample <count>', 'only this number of products, chosen at random')
        .argParser(whole(1, 10_000_000))
        .conflicts('product'),
    )
    .option('--product <id...>', 'only these products', productIds)
    .option('--json', 'print the verdict as JSON')
    .action(async (options: VerifyOptions) => {
      process.exitCode = await verify(options, loadConfig());
    });
  return explained(command, {
    notes: `
A difference counts when two looks, at least 3 s apart, see the same difference and neither side has moved: a change on its
way is no difference. What differs at six looks but keeps moving is undecided, which is neither equal nor a difference:
exit code 1, look again when the store is calmer. It compares the available quantities of variants and of their warehouses. Without --sample and
--product it also reads the store's product list, and a product that only one side has is a difference. Its reads come on
top of the running mirror's, with limits of their own: SERVICE_MAX_RPS and SERVICE_MAX_CONCURRENCY.`,
    examples: [
      { what: 'the whole catalogue', run: 'stock-mirror verify' },
      { what: '200 products chosen at random, for a cron job', run: 'stock-mirror verify --sample 200' },
      { what: 'two products', run: 'stock-mirror verify --product 123 456' },
    ],
  });
}

async function verify(options: VerifyOptions, config: Config): Promise<number> {
  const db = openMirrorFile(config.database.path);
  const progress = createWorkProgress(process.stderr, {
    unit: 'products',
    atFirst: 'reading the list of products',
  });
  const interrupted = interruptible();
  const startedAtMs = performance.now();
  let verdict;
  try {
    verdict = await compareAll({ options, config, mirror: new MirrorSide(db), progress, interrupted });
  } catch (error) {
    if (!interrupted.aborted) throw error;
    progress.say('stopped; nothing was proven');
    return EXIT.interrupted;
  } finally {
    progress.end();
    db.close();
  }
  if (options.product !== undefined) verdict = withoutUnknown(verdict);
  const tookMs = Math.round(performance.now() - startedAtMs);
  process.stdout.write(
    options.json === true ? `${jsonOf(verdict, tookMs)}\n` : describe(verdict, config.warehouseNames),
  );
  return isEqual(verdict) ? EXIT.done : EXIT.failed;
}

/** What could not be decided is not equal. */
export function isEqual({ drift, undecided, unread }: Verdict): boolean {
  return drift.length + undecided.length + unread.length === 0;
}

interface Comparison {
  readonly options: VerifyOptions;
  readonly config: Config;
  readonly mirror: MirrorSide;
  readonly progress: WorkProgress;
  readonly interrupted: AbortSignal;
}

async function compareAll({ options, config, mirror, progress, interrupted }: Comparison): Promise<Verdict> {
  const { baseUrl, clientId, clientSecret, maxConcurrency, maxRps } = config.service;
  const { client } = connectService({
    baseUrl,
    clientId,
    clientSecret: clientSecret.reveal(),
    tokenFilePath: `${config.database.path}.token`,
    maxConcurrency,
    onTokenFileError: (error) => progress.say(`the token file cannot be used: ${String(error)}`),
  });
  const hopeless = new AbortController();
  const signal = AbortSignal.any([interrupted, hopeless.signal]);
  const service = new ServiceSide({
    client,
    maxConcurrency,
    maxRps,
    storeId: () => mirror.storeId,
    signal,
    onBlocked: (why) => {
      if (why?.kind === 'credentials') hopeless.abort(new Error(why.message));
      else if (why !== null) progress.say(`waiting: ${why.message}`);
    },
  });
  try {
    progress.show({ done: 0, total: 0 });
    const ids = await productsToCompare(options, mirror, service);
    const onProgress = (done: number, drift: number): void =>
      progress.show({ done, total: ids.length, ...(drift > 0 ? { note: `${drift} differ` } : {}) });
    onProgress(0, 0);
    return await lookAtAll({ mirror, service, concurrency: maxConcurrency, onProgress, signal }, ids);
  } catch (error) {
    throw hopeless.signal.aborted ? hopeless.signal.reason : error;
  } finally {
    await client.close();
  }
}

async function productsToCompare(
  { product, sample }: VerifyOptions,
  mirror: MirrorSide,
  service: ServiceSide,
): Promise<string[]> {
  if (product !== undefined) return [...new Set(product)];
  if (sample !== undefined) {
    const drawn = mirror.sample(sample);
    // An empty mirror equals an empty store only.
    return drawn.length > 0 ? drawn : (await service.productIds()).slice(0, sample);
  }
  return [...new Set([...(await service.productIds()), ...mirror.productIds()])];
}

/** A named product that neither side has is probably a mistaken id: nothing was compared. */
function withoutUnknown(verdict: Verdict): Verdict {
  const unknown = verdict.nowhere.map((productId) => ({
    productId,
    error: 'neither the store nor the mirror has it',
  }));
  return { ...verdict, unread: [...verdict.unread, ...unknown] };
}

export function describe(verdict: Verdict, names: WarehouseNames): string {
  const { products, totals, levels, drift, undecided, unread } = verdict;
  const compared = `${counted(products, 'product')}, ${counted(totals, 'total')} and ${counted(levels, 'stock level')} compared`;
  const lines = drift.map((found) => `${colours.red('differs')}  ${describeFound(found, names)}`);
  for (const found of undecided) lines.push(`${colours.yellow('undecided')} ${describeFound(found, names)}`);
  for (const { productId, error } of unread)
    lines.push(`${colours.red('unread')}   product ${productId}: ${visible(error)}`);
  if (isEqual(verdict)) {
    lines.push(`${colours.green('equal')}: ${compared}`);
  } else {
    lines.push(
      `${colours.red(`${drift.length} differ`)}, ${undecided.length} undecided, ${counted(unread.length, 'product')} could not be read: ${compared}`,
    );
    const ids = [...new Set(drift.map(({ productId }) => productId))];
    const named = ids.length <= 10 ? ` --product ${ids.join(' ')}` : '';
    if (ids.length > 0) lines.push(`to read them again: stock-mirror resync${named}`);
  }
  return lines.map((line) => `${line}\n`).join('');
}

/** `level 100/11 (Bangkok)`. */
function levelText(variantId: string | null, warehouseId: string | null, names: WarehouseNames): string {
  const name = names.get(warehouseId ?? '');
  return `level ${variantId}/${warehouseId}${name === undefined ? '' : ` (${name})`}`;
}

function describeFound(found: Found, names: WarehouseNames): string {
  const { what, productId, variantId, warehouseId, held, service, onlyIn } = found;
  if (what === 'product') {
    return onlyIn === 'mirror'
      ? `product ${productId}: the store no longer has it`
      : `product ${productId}: the mirror does not have it`;
  }
  const id = what === 'level' ? levelText(variantId, warehouseId, names) : `total ${variantId}`;
  const sku = held?.sku === null || held === null ? '' : ` (${held.sku})`;
  const figures = `the mirror has ${held?.qty ?? 'no row'}, the store ${service ?? 'none'}`;
  const trust =
    held === null
      ? ''
      : `; ${held.suspect ? 'suspect' : 'not suspect'}, as of ${ago(held.asOfMs)}, verified ${ago(held.verifiedAtMs)}`;
  return visible(`${id}${sku} of product ${productId}: ${figures}${trust}`);
}

function jsonOf(verdict: Verdict, tookMs: number): string {
  const { products, totals, levels, drift, undecided, unread } = verdict;
  const answer = {
    equal: isEqual(verdict),
    products,
    totals,
    levels,
    took_ms: tookMs,
    drift: drift.map(rowOf),
    undecided: undecided.map(rowOf),
    unread: unread.map(({ productId, error }) => ({ product_id: productId, error })),
  };
  return JSON.stringify(answer);
}

function rowOf({ what, productId, variantId, warehouseId, held, service, onlyIn }: Found) {
  return {
    what,
    product_id: productId,
    variant_id: variantId,
    warehouse_id: warehouseId,
    sku: held?.sku ?? null,
    mirror: held?.qty ?? null,
    service,
    only_in: onlyIn,
    suspect: held?.suspect ?? null,
    as_of: held?.asOfMs ?? null,
    verified_at: held?.verifiedAtMs ?? null,
  };
}
