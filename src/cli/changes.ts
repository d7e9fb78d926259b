/** `stock-mirror changes`: the change feed, from a number on, of a SKU, as it grows. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Command, InvalidArgumentError, Option } from 'commander';
import { loadLocalConfig, type LocalConfig } from '../config/config.ts';
import { messageOf } from '../platform/thrown.ts';
import type { ChangeRow, FeedPage } from '../mirror/queries/changes.ts';
import { whyStartOver } from '../ops/feed/cursor.ts';
import { nextOf } from '../ops/feed/follow-changes.ts';
import { Feed } from './changes/find.ts';
import { lineOf } from './changes/line.ts';
import { EXIT } from './shared/exit-codes.ts';
import { explained } from './shared/explained.ts';
import { whole } from './shared/flags.ts';
import { interruptible } from './shared/interrupt.ts';

interface ChangesOptions {
  readonly follow?: boolean;
  readonly after?: number;
  readonly epoch?: string;
  readonly last: number;
  readonly sku?: string;
  readonly json?: boolean;
}

const LOOK_EVERY_MS = 200;

export function changesCommand(): Command {
  const command = new Command('changes')
    .option('--follow', 'go on with each change as it comes, until Ctrl-C')
    .option(
      '--after <seq>',
      'begin after this number instead of with the last few',
      whole(0, Number.MAX_SAFE_INTEGER),
    )
    .option(
      '--epoch <epoch>',
      'the epoch that the number is of: end when history has started again since',
      epoch,
    )
    .addOption(
      new Option('--last <count>', 'begin with this many')
        .argParser(whole(0, 1_000_000))
        .default(20)
        .conflicts('after'),
    )
    .option('--sku <text>', 'only changes of this SKU')
    .option('--json', 'a line of JSON for each change, with the columns of mirror_changes')
    .action(async (options: ChangesOptions) => {
      process.exitCode = await showChanges(options, loadLocalConfig());
    });
  return explained(command, {
    notes: `
Each change has a number, and numbers only grow: who keeps the last one and goes on after it misses nothing and sees nothing
twice. It reads the database alone, whether or not a mirror runs, and needs no settings of the store.

When nothing can go on from the number, because history has started again (another epoch), or the next changes were pruned, or
the number was never given out, it says so and exits with 1: read the stock anew, and go on from its last_seq.`,
    examples: [
      { what: 'the last 20 changes', run: 'stock-mirror changes' },
      { what: 'each change from now on', run: 'stock-mirror changes --follow --last 0' },
      { what: 'what happens to one SKU', run: 'stock-mirror changes --follow --sku TS-RED-M' },
      { what: 'for a program, from where it was', run: 'stock-mirror changes --follow --after 1200 --json' },
    ],
  });
}

async function showChanges(options: ChangesOptions, { database }: LocalConfig): Promise<number> {
  const interrupted = interruptible();
  const feed = new Feed(database.path, (error) =>
    process.stderr.write(`waiting for ${database.path}: ${messageOf(error)}\n`),
  );
  const sku = options.sku ?? null;
  const show = async (changes: readonly ChangeRow[]): Promise<void> => {
    const text = changes.map(
      (change) => `${options.json === true ? JSON.stringify(change) : lineOf(change)}\n`,
    );
    await write(text.join(''), interrupted);
  };
  const isOver = (): boolean => interrupted.aborted || process.stdout.destroyed;
  try {
    let at = options.after ?? null;
    let known = options.epoch ?? null;
    if (at === null) {
      const page = feed.last(options.last, sku);
      refuse(whyStartOver({ after: null, epoch: known }, page));
      known = page.epoch;
      await show(page.changes);
      at = nextOf(page);
    }
    while (!isOver()) {
      const page: FeedPage = feed.page(at, sku);
      refuse(whyStartOver({ after: at, epoch: known }, page));
      known = page.epoch;
      await show(page.changes);
      at = nextOf(page);
      if (page.hasMore) continue;
      if (options.follow !== true) return EXIT.done;
      while (!isOver() && !feed.hasMoved())
        await sleep(LOOK_EVERY_MS, null, { signal: interrupted }).catch(() => null);
    }
    if (!interrupted.aborted) return EXIT.done;
    const which = sku === null ? '' : ` --sku ${JSON.stringify(sku)}`;
    process.stderr.write(`to go on: stock-mirror changes --follow --after ${at} --epoch ${known}${which}\n`);
    return EXIT.interrupted;
  } finally {
    feed.close();
  }
}

/** @throws Error when a consumer must start over. */
function refuse(why: ReturnType<typeof whyStartOver>): void {
  if (why === null) return;
  const { error_description: description, epoch: now, last_seq: lastSeq } = why;
  throw new Error(`${description.replace('/api/stock', 'the stock')} (epoch ${now}, last_seq ${lastSeq})`);
}

/** Waits while the reader of the output is behind, unless it has gone. */
async function write(text: string, interrupted: AbortSignal): Promise<void> {
  if (text === '' || process.stdout.write(text) || process.stdout.destroyed) return;
  await new Promise<void>((resolve) => {
    for (const event of ['drain', 'close'] as const) process.stdout.once(event, () => resolve());
    interrupted.addEventListener('abort', () => resolve(), { once: true });
  });
}

function epoch(value: string): string {
  if (!/^[0-9a-f]{1,64}$/.test(value)) throw new InvalidArgumentError('It takes the epoch of mirror_status.');
  return value;
}
