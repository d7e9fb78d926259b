import { resolve } from 'node:path';
import { Command } from 'commander';
import { loadLocalConfig, type LocalConfig } from '../config/config.ts';
import { backupDatabase, restoreDatabase } from '../mirror/file/backup.ts';
import { isThere } from '../sqlite/is-there.ts';
import { EXIT } from './shared/exit-codes.ts';
import { explained } from './shared/explained.ts';
import { interruptible } from './shared/interrupt.ts';
import { createProgress } from './shared/progress.ts';

interface BackupOptions {
  readonly restore?: string;
  readonly force?: boolean;
  readonly json?: boolean;
}

export function createCommand(): Command {
  const command = new Command('backup')
    .argument('[file]', 'the copy of the mirror; it appears whole or not at all')
    .option('--restore <file>', 'replace the mirror, which must be stopped, by this copy')
    .option('--force', 'replace FILE')
    .option('--json', 'print the result as JSON')
    .action(async (file: string | undefined, options: BackupOptions, command: Command) => {
      const { restore } = options;
      if ((file === undefined) === (restore === undefined)) {
        command.error('error: name one file: the copy to make, or with --restore the copy to restore');
      }
      if (restore !== undefined && options.force === true) {
        command.error('error: --restore always replaces the mirror: omit --force');
      }
      process.exitCode =
        restore === undefined
          ? await backup(file ?? '', options, loadLocalConfig())
          : await restored(restore, options, loadLocalConfig());
    });
  return explained(command, {
    notes: `
The copy shows one instant. The inbox is not copied, since a restored mirror reads everything from the store.

With --restore, the mirror's file is replaced by the copy. This is refused while a process has the file open; the
receiver may run. The next start begins a new epoch, and every row is suspect until its product has been read.`,
    examples: [
      {
        what: 'a copy that replaces yesterday’s',
        run: 'stock-mirror backup /backup/mirror.db --force',
      },
      {
        what: 'the mirror as it was in that copy',
        run: 'stock-mirror backup --restore /backup/mirror.db',
      },
    ],
  });
}

async function backup(file: string, options: BackupOptions, config: LocalConfig): Promise<number> {
  const from = config.database.path;
  if (!isThere(from))
    throw new Error(`${from} does not exist: start the mirror first, or correct DATABASE_PATH`);
  return copying(options, {
    stopped: 'stopped; no copy was made',
    next: '',
    copy: (progress) => backupDatabase(from, resolve(file), { ...progress, force: options.force === true }),
  });
}

async function restored(file: string, options: BackupOptions, config: LocalConfig): Promise<number> {
  const from = resolve(file);
  if (!isThere(from)) throw new Error(`${from} does not exist: name a file that \`backup\` has written`);
  return copying(options, {
    stopped: 'stopped; nothing was restored',
    next: 'start the mirror: it begins a new epoch and reads everything from the store',
    copy: (progress) => restoreDatabase(from, config.database.path, progress),
  });
}

interface Copying {
  readonly stopped: string;
  readonly next: string;
  readonly copy: (options: Parameters<typeof restoreDatabase>[2]) => ReturnType<typeof restoreDatabase>;
}

async function copying(options: BackupOptions, { stopped, next, copy }: Copying): Promise<number> {
  const progress = createProgress(process.stderr, { unit: 'pages', atFirst: 'copying' });
  const startedAtMs = performance.now();
  const made = await copy({
    onProgress: (done, total) => progress.show({ done, total }),
    interrupted: interruptible(),
  });
  if (made === null) {
    process.stderr.write(`${stopped}\n`);
    return EXIT.interrupted;
  }
  const tookMs = Math.round(performance.now() - startedAtMs);
  const { path, bytes, epoch, lastSeq } = made;
  if (options.json === true) {
    process.stdout.write(`${JSON.stringify({ path, bytes, epoch, last_seq: lastSeq, took_ms: tookMs })}\n`);
  } else {
    const size = `${(bytes / 1e6).toFixed(1)} MB`;
    process.stdout.write(
      `${path}: ${size} in ${(tookMs / 1_000).toFixed(1)} s, checked; last change ${lastSeq}\n`,
    );
    if (next !== '') process.stdout.write(`${next}\n`);
  }
  return EXIT.done;
}
