import { randomBytes } from 'node:crypto';
import { createReadStream, createWriteStream, statSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, extname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Command, Option } from 'commander';
import { stringify, type Options } from 'csv-stringify';
import { loadLocalConfig, type LocalConfig } from '../config/config.ts';
import { inboxPath } from '../inbox/inbox-file.ts';
import { setAccess } from '../platform/access.ts';
import { linksFollowed } from '../platform/links-followed.ts';
import { refuseTarget } from '../sqlite/database-files.ts';
import { EXIT } from './shared/exit-codes.ts';
import { explained } from './shared/explained.ts';
import { whole } from './shared/flags.ts';
import { interruptible } from './shared/interrupt.ts';
import { openMirrorFile } from './shared/mirror-file.ts';

type Format = 'csv' | 'json';

interface ExportOptions {
  readonly format?: Format;
  readonly changes?: boolean;
  readonly after?: number;
  readonly output?: string;
  readonly force?: boolean;
  readonly spreadsheet?: boolean;
}

export function createCommand(): Command {
  const command = new Command('export')
    .addOption(
      new Option('--format <format>', 'csv or json; by default that of the name of FILE').choices([
        'csv',
        'json',
      ]),
    )
    .option('--changes', 'the change feed (mirror_changes) instead of what can be sold (mirror_sellable)')
    .option('--after <seq>', 'only rows with a higher number than this', whole(0, Number.MAX_SAFE_INTEGER))
    .option('--output <file>', 'write to this file; it appears whole or not at all')
    .option('--force', 'replace the file, once the export is complete')
    .option(
      '--spreadsheet',
      'CSV for a spreadsheet: with a byte order mark, and an apostrophe before texts that it might change',
    )
    .action(async (options: ExportOptions, command: Command) => {
      const format = options.format ?? formatOf(options.output ?? '');
      if (format === null) {
        command.error(
          'error: --format <format> is needed, unless --output names a file that ends in .csv, .json or .jsonl',
        );
      }
      if (options.spreadsheet === true && format !== 'csv') {
        command.error('error: --spreadsheet needs --format csv');
      }
      if (options.force === true && options.output === undefined) {
        command.error('error: --force needs --output');
      }
      process.exitCode = await exportRows({ ...options, format }, loadLocalConfig());
    });
  return explained(command, {
    notes: `
The columns are those of the view, and all rows show one instant. Without --format, the name of FILE decides: .csv, or .json,
.jsonl and .ndjson for JSON lines. The rows are first written to a temporary file, next to FILE or
in TMPDIR. CSV follows RFC 4180, with a header; null is an empty field. It needs no settings of the store.

A spreadsheet computes a SKU like =1+1, and shows 00123, 1E5 or an id of 19 digits as another number. For files that people
open in one, import the columns as text, or use --spreadsheet: it puts an apostrophe before every text that has other characters
than letters, spaces and underscores, so before each id and most SKUs, and after each ; | tab and line break in it.`,
    examples: [
      {
        what: 'the stock for a spreadsheet',
        run: 'stock-mirror export --spreadsheet --output stock.csv',
      },
      {
        what: 'the changes after number 1200, as JSON lines',
        run: 'stock-mirror export --format json --changes --after 1200',
      },
      {
        what: 'how many rows are not trusted',
        run: "stock-mirror export --format json | jq -s 'map(select(.trusted == 0)) | length'",
      },
    ],
  });
}

export function formatOf(file: string): Format | null {
  switch (extname(file).toLowerCase()) {
    case '.csv':
      return 'csv';
    case '.json':
    case '.jsonl':
    case '.ndjson':
      return 'json';
    default:
      return null;
  }
}

interface Export extends ExportOptions {
  readonly format: Format;
}

async function exportRows(options: Export, { database }: LocalConfig): Promise<number> {
  const { output, force = false, changes = false, after = -1 } = options;
  if (output !== undefined) {
    refuseTarget([database.path, inboxPath(database.path)], resolve(output), { force });
  }
  const target = output === undefined ? null : linksFollowed(resolve(output));
  const folder = target === null ? tmpdir() : dirname(target);
  const draft = join(folder, `.stock-mirror-export.${process.pid}.${randomBytes(4).toString('hex')}`);
  const signal = interruptible();
  const db = openMirrorFile(database.path);
  const statement = changes
    ? db.prepare<[number]>('SELECT * FROM mirror_changes WHERE seq > ? ORDER BY seq')
    : db.prepare<[number]>('SELECT * FROM mirror_sellable WHERE change_seq > ? ORDER BY change_seq');
  // One statement is one read transaction. The draft file keeps a slow reader of the output from prolonging it.
  const rows = statement.iterate(after);
  try {
    const old = target === null ? undefined : statSync(target, { throwIfNoEntry: false });
    const mode = target === null ? 0o600 : old === undefined ? 0o666 : old.mode & 0o777;
    const file = createWriteStream(draft, { flags: 'wx', mode, flush: true });
    if (options.format === 'json') await pipeline(jsonLines(rows), file, { signal });
    else {
      const columns = statement.columns().map(({ name }) => name);
      await pipeline(rows, stringify({ ...csvOptions(options), columns, header: true }), file, { signal });
    }
    if (target === null) await toStandardOutput(draft, signal);
    else {
      if (old !== undefined) setAccess(draft, { mode, owner: old });
      await rename(draft, target);
    }
    return EXIT.done;
  } catch (error) {
    if (signal.aborted) return EXIT.interrupted;
    throw named(error, folder);
  } finally {
    rows.return?.();
    db.close();
    await rm(draft, { force: true });
  }
}

function* jsonLines(rows: Iterable<unknown>): Generator<string> {
  for (const row of rows) yield `${JSON.stringify(row)}\n`;
}

/** No spreadsheet takes it for a formula, a number, a date or a time. */
const HARMLESS = /^[\p{L}\p{M}_ ]*$/u;
/** A spreadsheet whose list separator is a semicolon splits a text here, also inside quotes. */
const MAY_SPLIT = /[;\t\r\n|]/g;

function forSpreadsheet(text: string): string {
  return HARMLESS.test(text) ? text : `'${text.replaceAll(MAY_SPLIT, "$&'")}`;
}

export function csvOptions({ spreadsheet = false }: { readonly spreadsheet?: boolean }): Options {
  return {
    bom: spreadsheet,
    record_delimiter: 'windows',
    // RFC 4180, also for a lone CR or LF.
    quoted_match: /[\r\n]/,
    cast: { string: (text: string) => (spreadsheet ? forSpreadsheet(text) : text) },
  };
}

async function toStandardOutput(draft: string, signal: AbortSignal): Promise<void> {
  try {
    await pipeline(createReadStream(draft), process.stdout, { end: false, signal });
  } catch (error) {
    if (signal.aborted || (error as NodeJS.ErrnoException).syscall !== 'write') throw error;
  }
}

function named(error: unknown, folder: string): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (code === undefined || syscall === undefined) return error;
  const remedy = 'check disk space and permissions, or use another folder';
  return new Error(`cannot write in ${folder} (${code}): ${remedy} (--output or TMPDIR)`, { cause: error });
}
