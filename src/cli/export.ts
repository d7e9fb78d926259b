/** `stock-mirror export`: stock rows or the change feed, as CSV or JSON lines. */
import { resolve } from 'node:path';
import { Command, Option } from 'commander';
import { loadLocalConfig, type LocalConfig } from '../config/config.ts';
import { EXIT } from './shared/exit-codes.ts';
import { explained } from './shared/explained.ts';
import { rowsToExport } from './export/rows.ts';
import { csvLines, jsonLines, type Format } from './export/format.ts';
import { writeAll } from './export/write.ts';
import { whole } from './shared/flags.ts';
import { interruptible } from './shared/interrupt.ts';
import { openMirrorFile } from './shared/mirror-file.ts';

interface ExportOptions {
  readonly format: 'csv' | 'json';
  readonly changes?: boolean;
  readonly after?: number;
  readonly output?: string;
  readonly force?: boolean;
  readonly spreadsheet?: boolean;
}

export function exportCommand(): Command {
  const command = new Command('export')
    .addOption(new Option('--format <format>', 'csv or json').choices(['csv', 'json']).makeOptionMandatory())
    .option('--changes', 'the change feed (mirror_changes) instead of the stock levels (mirror_stock)')
    .option('--after <seq>', 'only rows with a higher number than this', whole(0, Number.MAX_SAFE_INTEGER))
    .option('--output <file>', 'write to this file; it appears whole or not at all')
    .option('--force', 'replace that file; the old one stays in place until the export is complete')
    .option(
      '--spreadsheet',
      'CSV for a spreadsheet: a byte order mark, and an apostrophe before text that it would change',
    )
    .action(async (options: ExportOptions, command: Command) => {
      process.exitCode = await exportRows(options, command, loadLocalConfig());
    });
  return explained(command, {
    notes: `
The columns are those of the view. All rows are as of one instant, even while the mirror writes: they are first written to
a temporary file, beside FILE or in TMPDIR, so that a slow reader of the standard output does not hold up the database. CSV
follows RFC 4180, with a header; an absent value is an empty field. Texts stay as they are: a spreadsheet computes a SKU like
=1+1, and shows 00123, 1E5 or an id of 19 digits as another number. For files that people open, use --spreadsheet, which
puts an apostrophe before such texts; or import the file with its columns set to text. It needs no settings of the store.`,
    examples: [
      {
        what: 'the stock for a spreadsheet',
        run: 'stock-mirror export --format csv --spreadsheet --output stock.csv',
      },
      {
        what: 'the changes after number 1200, as JSON lines',
        run: 'stock-mirror export --format json --changes --after 1200',
      },
      {
        what: 'how many rows are suspect',
        run: "stock-mirror export --format json | jq -s 'map(select(.suspect == 1)) | length'",
      },
    ],
  });
}

async function exportRows(options: ExportOptions, command: Command, config: LocalConfig): Promise<number> {
  if (options.spreadsheet === true && options.format !== 'csv') {
    command.error('error: --spreadsheet goes with --format csv');
  }
  if (options.force === true && options.output === undefined) {
    command.error('error: --force goes with --output');
  }
  const format: Format =
    options.format === 'json' ? jsonLines : csvLines({ forSpreadsheet: options.spreadsheet === true });
  const db = openMirrorFile(config.database.path);
  try {
    const rows = rowsToExport(db, { changes: options.changes === true, afterSeq: options.after ?? null });
    const written = await writeAll({
      chunks: format(rows),
      // The rows are read from the first access on, and their transaction ends with the last row.
      onRead: () => db.close(),
      path: options.output === undefined ? null : resolve(options.output),
      force: options.force === true,
      databasePath: config.database.path,
      interrupted: interruptible(),
    });
    return written ? EXIT.done : EXIT.interrupted;
  } finally {
    db.close();
  }
}
