import { Command, Option } from 'commander';
import { loadConfig, type Config } from '../config/config.ts';
import { ago, counted } from '../platform/amounts.ts';
import { warehouseNames } from '../mirror/file/warehouse-names.ts';
import { commandsOf, type CommandOf } from '../platform/own-command.ts';
import { visible } from '../platform/visible.ts';
import { Throttle } from '../reconcile/throttle.ts';
import { ownFile } from '../sqlite/database-files.ts';
import { allProducts } from '../store-api/all-rows.ts';
import { connectService, type ServiceClient } from '../store-api/client.ts';
import { DEFAULT_RETRY_POLICY, withRetries } from '../store-api/retry.ts';
import { snapshotOf } from '../store-api/snapshot.ts';
import { colours } from './shared/colours.ts';
import { EXIT } from './shared/exit-codes.ts';
import { explained } from './shared/explained.ts';
import { productIds, whole } from './shared/flags.ts';
import { interruptible } from './shared/interrupt.ts';
import { openMirrorFile } from './shared/mirror-file.ts';
import { createProgress } from './shared/progress.ts';
import { checkAll, type Verdict } from './verify/check-all.ts';
import { GiveUp } from './verify/give-up.ts';
import { rowsIn, type DifferingValue, type ProductReading, type Rows } from './verify/compare.ts';

interface VerifyOptions {
  readonly sample?: number;
  readonly product?: string[];
  readonly json?: boolean;
}

export function createCommand(): Command {
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
It compares the available quantities of variants and of their warehouses. A difference counts if two checks, at least 3 s
apart, show the same one and neither side has changed: a change may be on its way. A value that differs in six checks in a
row and keeps changing is reported as undecided, with exit code 1: run verify again when the store is calmer.

If the store answers nothing for 30 s, it ends without a verdict, with exit code 1.

Without --sample and --product it also reads the store's product list; a product that only one side has is a difference.
SERVICE_MAX_RPS and SERVICE_MAX_CONCURRENCY limit its reads, in addition to those of a running mirror.`,
    examples: [
      { what: 'the whole catalogue', run: 'stock-mirror verify' },
      { what: '200 products chosen at random, for a cron job', run: 'stock-mirror verify --sample 200' },
      { what: 'two products', run: 'stock-mirror verify --product 123 456' },
    ],
  });
}

async function verify({ product, sample, json }: VerifyOptions, config: Config): Promise<number> {
  const startedAtMs = performance.now();
  const db = openMirrorFile(config.database.path);
  const progress = createProgress(process.stderr);
  const { clientSecret, ...service } = config.service;
  const { client } = connectService({
    ...service,
    clientSecret: clientSecret.reveal(),
    tokenFilePath: ownFile(config.database.path, 'token'),
    onTokenFileError: (error) => progress.say(`the token file cannot be used: ${String(error)}`),
  });
  const throttle = new Throttle({
    ...service,
    now: Date.now,
    random: Math.random,
    onBlocked: (why) => {
      if (why?.kind === 'rate_limited') progress.say(`waiting: ${why.message}`);
    },
  });
  const interrupted = interruptible();
  /** Ends the waits of the other workers when one has failed. */
  const over = new AbortController();
  const signal = AbortSignal.any([interrupted, over.signal]);
  const giveUp = new GiveUp((error) => over.abort(error));
  const store = { client, throttle, giveUp, signal };
  const pluck = (sql: string): string[] => db.prepare<[], string>(sql).pluck().all();
  let verdict;
  let held: ReadonlySet<string>;
  let names: ReadonlyMap<string, string>;
  try {
    progress.show({ done: 0, total: 0 });
    const drawn = sample === undefined ? [] : pluck(`${PRODUCT_IDS} ORDER BY random() LIMIT ${sample}`);
    // An empty mirror equals only an empty store.
    const chosen =
      product ??
      (drawn.length > 0 ? drawn : [...(await listed(store)), ...pluck(PRODUCT_IDS)].slice(0, sample));
    const ids = [...new Set(chosen)];
    const [storeId] = pluck('SELECT store_id FROM mirror_state WHERE store_id IS NOT NULL');
    verdict = await checkAll(
      {
        signal,
        concurrency: service.maxConcurrency,
        isNamed: product !== undefined,
        read: readerOf(store, rowsIn(db), storeId),
        onProgress: (done, drift) => progress.show({ done, total: ids.length, drift }),
      },
      ids,
    );
    held = new Set(pluck('SELECT product_id FROM due_reads WHERE held = 1'));
    names = warehouseNames(db);
  } catch (error) {
    if (!interrupted.aborted) throw over.signal.aborted ? over.signal.reason : error;
    progress.say('stopped without a verdict');
    return EXIT.interrupted;
  } finally {
    giveUp.stop();
    over.abort();
    db.close();
    await client.close();
  }
  const equal = isEqual(verdict);
  const answer = { equal, ...verdict, took_ms: Math.round(performance.now() - startedAtMs) };
  process.stdout.write(
    json === true
      ? `${JSON.stringify(answer)}\n`
      : describe(verdict, { names, held, commandOf: commandsOf(config.command) }),
  );
  return equal ? EXIT.done : EXIT.failed;
}

const PRODUCT_IDS = 'SELECT product_id FROM mirror_products';

interface PacedStore {
  readonly client: ServiceClient;
  readonly throttle: Throttle;
  readonly giveUp: GiveUp;
  readonly signal: AbortSignal;
}

async function listed({ client, throttle, giveUp, signal }: PacedStore): Promise<string[]> {
  const paced: ServiceClient = {
    ...client,
    listProducts: async (...args) => {
      await throttle.turn(signal);
      return giveUp.watch(() => throttle.send(() => client.listProducts(...args)));
    },
  };
  const patient = withRetries(paced, DEFAULT_RETRY_POLICY);
  const ids: string[] = [];
  for await (const { id } of allProducts(patient, {}, { signal })) ids.push(id);
  return ids;
}

/** @param mirrored the id of the mirrored store; undefined before the first read. */
function readerOf(
  { client, throttle, giveUp, signal }: PacedStore,
  rows: (productId: string) => Rows,
  mirrored: string | undefined,
) {
  return async (productId: string): Promise<ProductReading> => {
    await throttle.turn(signal);
    const before = rows(productId);
    const answer = await giveUp.watch(() => throttle.send(() => client.productDetail(productId, { signal })));
    const after = rows(productId);
    if (answer.outcome !== 'found') return { before, answer: null, after };
    const { store_id: storeId } = answer.product;
    if (mirrored !== undefined && storeId !== mirrored) {
      throw new Error(
        `the credentials belong to store ${storeId}, but this mirror holds store ${mirrored}: ` +
          'correct SERVICE_CLIENT_ID or DATABASE_PATH',
      );
    }
    return { before, answer: snapshotOf(answer.product, ''), after };
  };
}

export function isEqual({ drift, undecided, unread }: Verdict): boolean {
  return drift.length + undecided.length + unread.length === 0;
}

interface Known {
  readonly names: ReadonlyMap<string, string>;
  /** Products whose removal the mass-removal guard holds. */
  readonly held: ReadonlySet<string>;
  readonly commandOf: CommandOf;
}

export function describe(verdict: Verdict, { names, held, commandOf }: Known): string {
  const { products, totals, levels, drift, undecided, unread } = verdict;
  const compared =
    `${counted(products, 'product')}, ${counted(totals, 'total')} and ` +
    `${counted(levels, 'stock level')} compared`;
  const lines = [
    ...drift.map((value) => `${colours.red('differs')}  ${describeDifference(value, names)}`),
    ...undecided.map((value) => `${colours.yellow('undecided')} ${describeDifference(value, names)}`),
    ...unread.map((each) => `${colours.red('unread')}   product ${each.product_id}: ${visible(each.error)}`),
  ];
  if (isEqual(verdict)) {
    lines.push(`${colours.green('equal')}: ${compared}`);
  } else {
    lines.push(
      `${colours.red(`${drift.length} differ`)}, ${undecided.length} undecided, ${counted(unread.length, 'product')} could not be read: ${compared}`,
    );
    const present = drift.filter(({ only_in: side }) => side !== 'mirror');
    const ids = [...new Set(present.map(({ product_id: id }) => id))];
    const named = ids.length <= 10 ? ` --product ${ids.join(' ')}` : '';
    if (ids.length > 0) lines.push(`to read them again: ${commandOf(`stock-mirror resync${named}`)}`);
    const isOnlyHere = drift.filter(({ only_in: side }) => side === 'mirror');
    const isHeld = isOnlyHere.filter(({ product_id: id }) => held.has(id));
    if (isHeld.length > 0) {
      lines.push(
        `no longer in the store: the mass-removal guard holds back ${counted(isHeld.length, 'removal')} until you decide: ` +
          commandOf('stock-mirror resync --allow-removals --by NAME --reason TEXT'),
      );
    }
    if (isHeld.length < isOnlyHere.length) {
      lines.push(
        'deleted in the store: a second read, and for a product a list of the catalogue, removes it here within ' +
          'minutes; verify again then',
      );
    }
  }
  return lines.map((line) => `${line}\n`).join('');
}

function describeDifference(value: DifferingValue, names: ReadonlyMap<string, string>): string {
  const { what, product_id: product, variant_id: variant, warehouse_id: warehouse, sku } = value;
  if (what === 'product') {
    const fault = value.only_in === 'mirror' ? 'the store no longer has it' : 'the mirror does not have it';
    return `product ${product}: ${fault}`;
  }
  const name = names.get(warehouse ?? '');
  const id = what === 'total' ? variant : `${variant}/${warehouse}${name === undefined ? '' : ` (${name})`}`;
  const values = `mirror ${value.mirror ?? 'none'}, store ${value.service ?? 'none'}`;
  const trust =
    value.suspect === null
      ? ''
      : `; ${value.suspect ? 'suspect' : 'not suspect'}, as of ${ago(value.as_of)}, verified ${ago(value.verified_at)}`;
  return visible(`${what} ${id}${sku === null ? '' : ` (${sku})`} of product ${product}: ${values}${trust}`);
}
