/** Copies of a running mirror, restored on hosts that have neither its inbox nor its other files. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Host } from './host.ts';

/** Litestream copies what has changed once a second. */
const LITESTREAM_MS = 3_000;

export interface CopyMethod {
  readonly name: string;
  /** @returns the path of a copy of the host's running mirror. */
  readonly copy: (host: Host) => Promise<string>;
}

export function backupCommand(folder: string): CopyMethod {
  return {
    name: 'a backup restored on another host',
    async copy({ command }) {
      const file = join(folder, 'backup.db');
      command('backup', file);
      return Promise.resolve(file);
    },
  };
}

/** @param program Litestream: its file or its name. */
export function litestream(program: string, folder: string): CopyMethod {
  return {
    name: 'a Litestream copy restored on another host',
    async copy({ databasePath }) {
      const replica = `file://${join(folder, 'replica')}`;
      const replicating = spawn(program, ['replicate', databasePath, replica], { stdio: 'ignore' });
      const ended = once(replicating, 'exit');
      try {
        await Promise.race([sleep(LITESTREAM_MS), ended]);
        if (replicating.exitCode !== null) throw new Error(`${program} replicate does not run`);
      } finally {
        replicating.kill();
        await ended;
      }
      const file = join(folder, 'litestream.db');
      execFileSync(program, ['restore', '-o', file, replica], { stdio: 'ignore' });
      return file;
    },
  };
}
