/** `stock-mirror backup FILE`: an online copy of the mirror, beside a running server or without one. */
import { resolve } from 'node:path';
import { Command } from 'commander';
import { loadConfig, type Config } from '../config.ts';
import { backupDatabase } from '../store/backup.ts';
import { isThere } from '../store/is-there.ts';
import { EXIT } from './exit-codes.ts';
import { interruptible } from './interrupt.ts';
import { createWorkProgress } from './progress.ts';

interface BackupOptions {
  readonly force?: boolean;
  readonly json?: boolean;
}

export function backupCommand(): Command {
  return new Command('backup')
    .argument('<file>', 'the copy; it appears whole or not at all')
    .option('--force', 'replace FILE')
    .option('--json', 'print what was copied as JSON')
    .addHelpText(
      'after',
      `
Writes made meanwhile wait in the write-ahead log beside the database and reach the file afterwards. When a mirror is
started on a copy, at whatever path, a new epoch begins and every product is read again.`,
    )
    .action(async (file: string, options: BackupOptions) => {
      process.exitCode = await backup(file, options, loadConfig());
    });
}

async function backup(file: string, options: BackupOptions, config: Config): Promise<number> {
  const from = config.database.path;
  if (!isThere(from)) throw new Error(`${from} does not exist: there is nothing to copy yet`);
  const progress = createWorkProgress(process.stderr, { unit: 'pages', atFirst: 'copying' });
  const startedAtMs = performance.now();
  let made;
  try {
    made = await backupDatabase(from, resolve(file), {
      force: options.force === true,
      onProgress: (done, total) => progress.show({ done, total }),
      interrupted: interruptible(),
    });
  } finally {
    progress.end();
  }
  if (made === null) {
    process.stderr.write('stopped; there is no copy\n');
    return EXIT.interrupted;
  }
  const tookMs = Math.round(performance.now() - startedAtMs);
  if (options.json === true) {
    const { path, bytes, epoch, lastSeq } = made;
    process.stdout.write(`${JSON.stringify({ path, bytes, epoch, last_seq: lastSeq, took_ms: tookMs })}\n`);
  } else {
    const size = `${(made.bytes / 1e6).toFixed(1)} MB`;
    process.stdout.write(
      `${made.path}: ${size} in ${(tookMs / 1_000).toFixed(1)} s, checked; its change feed ends at ${made.lastSeq}\n`,
    );
  }
  return EXIT.done;
}
