/** `stock-mirror stock SKU`: what the mirror holds of a SKU, by warehouse, and how far to trust it. */
import { Command } from 'commander';
import { loadLocalConfig, type LocalConfig } from '../config/config.ts';
import type { MirrorState } from '../mirror/file/state.ts';
import { stockOfSku, type AgainstLevel, type AgainstTotal, type StockOfSku } from '../mirror/queries/sku.ts';
import type { VariantRow } from '../mirror/queries/stock.ts';
import { warehouseText } from '../ops/shared/warehouse-names.ts';
import { reasonWords } from '../ops/shared/words.ts';
import { ago } from './shared/ago.ts';
import type { StockAnswer } from './shared/answers.ts';
import { colours } from './shared/colours.ts';
import { EXIT } from './shared/exit-codes.ts';
import { explained } from './shared/explained.ts';
import { openMirrorFile } from './shared/mirror-file.ts';

export function stockCommand(): Command {
  const command = new Command('stock')
    .argument('<sku>', 'the SKU, as the store has it')
    .option('--json', 'print the rows as JSON')
    .action((sku: string, options: { readonly json?: boolean }) => {
      process.exitCode = showStock(sku, options, loadLocalConfig());
    });
  return explained(command, {
    notes: `
The total, and each warehouse: certain or suspect, and why; where the figure comes from, and when a read of the store last
confirmed it. It reads the database alone, whether or not a mirror runs, and needs no settings of the store. Exit code 1 when
the mirror has no such SKU.`,
    examples: [
      { what: 'how much there is, and where', run: 'stock-mirror stock TS-RED-M' },
      {
        what: 'the figures that may be relied on',
        run: "stock-mirror stock TS-RED-M --json | jq '.levels[] | select(.suspect == 0)'",
      },
      {
        what: 'as another user than the mirror’s, who knows no secrets',
        run: 'DATABASE_PATH=/var/lib/stock-mirror/mirror.db stock-mirror stock TS-RED-M',
      },
    ],
  });
}

function showStock(sku: string, { json }: { readonly json?: boolean }, { database }: LocalConfig): number {
  const db = openMirrorFile(database.path);
  try {
    const found = stockOfSku(db, { sku });
    const state = db.prepare<[], MirrorState>('SELECT state FROM mirror_status').pluck().get() ?? 'stale';
    const { epoch, lastSeq, variants, levels } = found;
    if (json === true) {
      const answer: StockAnswer = {
        sku,
        state,
        epoch,
        last_seq: lastSeq,
        variants: [...variants],
        levels: [...levels],
      };
      process.stdout.write(`${JSON.stringify(answer)}\n`);
    }
    if (variants.length + levels.length === 0) {
      process.stderr.write(`${absence(sku, found)}\n`);
      return EXIT.failed;
    }
    if (json !== true) process.stdout.write(describe(found, state));
    return EXIT.done;
  } finally {
    db.close();
  }
}

function absence(sku: string, { removedAtMs }: StockOfSku): string {
  return removedAtMs === null
    ? `the mirror has no SKU ${sku}: look for its exact spelling, capitals included`
    : `the store no longer has SKU ${sku}: the mirror removed it ${ago(removedAtMs)}`;
}

function describe(found: StockOfSku, state: MirrorState): string {
  const ids = [...new Set([...found.variants, ...found.levels].map((row) => row.variant_id))];
  const parts = ids.map((id) => describeVariant(found, id));
  if (state !== 'live') {
    parts.push(
      `the mirror is ${state}: \`stock-mirror status\` says why, and what that means for the figures\n`,
    );
  }
  return parts.join('\n');
}

function describeVariant({ variants, levels, requests }: StockOfSku, variantId: string): string {
  const total = variants.find((row) => row.variant_id === variantId);
  const own = levels.filter((row) => row.variant_id === variantId);
  const known = total ?? own[0];
  const request = requests.get(known?.product_id ?? '') ?? null;
  const names = [known?.product_name, known?.variant_name].filter((name) => (name ?? '') !== '').join(', ');
  const head = [known?.sku, names, `variant ${variantId}`, productOf(known?.product_id ?? null)]
    .filter((part) => (part ?? '') !== '')
    .join('  ');
  const lines: Line[] = own.map((row) => ({
    name: warehouseText(row.warehouse_id, row.warehouse_name),
    qty: row.available_qty,
    also: row.on_hand === null ? '' : `on hand ${row.on_hand}, reserved ${row.reserved_qty ?? 0}`,
    because: row.suspect_because,
    since: `by a ${row.source} ${ago(row.as_of)}`,
    verifiedAt: row.verified_at,
  }));
  if (total !== undefined) {
    lines.unshift({
      name: 'total',
      qty: total.available_qty,
      also: kindWords(total),
      because: total.suspect_because,
      since: `as of ${ago(total.as_of)}`,
      verifiedAt: total.verified_at,
    });
  }
  return `${colours.bold(head)}\n${table(lines, request)}`;
}

interface Line {
  readonly name: string;
  readonly qty: number;
  readonly also: string;
  readonly because: readonly (AgainstLevel | AgainstTotal)[];
  readonly since: string;
  readonly verifiedAt: number | null;
}

function table(lines: readonly Line[], request: string | null): string {
  const widest = (texts: readonly string[]): number => Math.max(...texts.map((text) => text.length));
  const names = widest(lines.map(({ name }) => name));
  const figures = widest(lines.map(({ qty }) => String(qty)));
  const rows = lines.map(({ name, qty, also, because, since, verifiedAt }) => {
    const verified = verifiedAt === null ? 'never verified' : `verified ${ago(verifiedAt)}`;
    const trust =
      because.length === 0
        ? colours.green('certain')
        : `${colours.yellow('suspect')}: ${because.map((each) => wordsOf(each, request)).join('; ')}`;
    const details = [trust, since, verified, also].filter((part) => part !== '').join(', ');
    return `  ${name.padEnd(names)}  ${String(qty).padStart(figures)}  ${details}\n`;
  });
  return rows.join('');
}

function wordsOf(against: AgainstLevel | AgainstTotal, request: string | null): string {
  switch (against) {
    case 'unknown_product':
      return 'its product is not known yet';
    case 'unexplained_total':
      return 'no read that was certain has shown it since the variant’s total moved, the order of its changes was unclear, or the variant was searched for';
    case 'not_read':
      return 'its product was not read since the last downtime';
    case 'requested':
      return `its product is to be read again${request === null ? '' : `, because ${reasonWords(request)}`}`;
    case 'gap':
      return 'a webhook before the last one is late or lost';
    case 'two_totals':
      return 'the store’s answer gave its total twice, and not the same, or the variant is searched for';
  }
}

const productOf = (productId: string | null): string => (productId === null ? '' : `product ${productId}`);

function kindWords({ kind, allow_negative_stock: below }: VariantRow): string {
  const made = kind === 'own' ? [] : [kind];
  return [...made, ...(below === 1 ? ['may be sold below zero'] : [])].join(', ');
}
