/** `stock-mirror backup FILE`: an online copy of mirror and event log, beside a running server or without one. */
import { basename, resolve } from 'node:path';
import { Command } from 'commander';
import { loadLocalConfig, type LocalConfig } from '../config/config.ts';
import { backupDatabase } from '../mirror/file/backup.ts';
import { isThere } from '../sqlite/is-there.ts';
import { EXIT } from './shared/exit-codes.ts';
import { explained } from './shared/explained.ts';
import { interruptible } from './shared/interrupt.ts';
import { createWorkProgress } from './shared/progress.ts';

interface BackupOptions {
  readonly force?: boolean;
  readonly json?: boolean;
}

export function backupCommand(): Command {
  const command = new Command('backup')
    .argument('<file>', 'the copy of the mirror; it appears whole or not at all, after that of the event log')
    .option('--force', 'replace FILE and the copy of the event log beside it')
    .option('--json', 'print what was copied as JSON')
    .action(async (file: string, options: BackupOptions) => {
      process.exitCode = await backup(file, options, loadLocalConfig());
    });
  return explained(command, {
    notes: `
The event log is copied beside FILE, with .log before its ending: mirror.db has mirror.log.db, which holds every webhook
as it was sent; keep it as private. Writes made meanwhile wait in the write-ahead logs and reach the files afterwards.

The copy of the mirror alone, put back beside the event log that it was made from, catches up with it. When a mirror is
started on a copy of both, or on an older event log, a new epoch begins and every product is read again.`,
    examples: [
      {
        what: 'a copy that replaces the one of yesterday',
        run: 'stock-mirror backup /backup/mirror.db --force',
      },
    ],
  });
}

async function backup(file: string, options: BackupOptions, config: LocalConfig): Promise<number> {
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
    const { path, bytes, eventLog, epoch, lastSeq } = made;
    const copied = {
      path,
      bytes,
      event_log: eventLog,
      epoch,
      last_seq: lastSeq,
      took_ms: tookMs,
    };
    process.stdout.write(`${JSON.stringify(copied)}\n`);
  } else {
    const { eventLog } = made;
    const size = `${((made.bytes + (eventLog?.bytes ?? 0)) / 1e6).toFixed(1)} MB`;
    const beside = eventLog === null ? '' : ` and ${basename(eventLog.path)}`;
    process.stdout.write(
      `${made.path}${beside}: ${size} in ${(tookMs / 1_000).toFixed(1)} s, checked; its change feed ends at ${made.lastSeq}\n`,
    );
  }
  return EXIT.done;
}
