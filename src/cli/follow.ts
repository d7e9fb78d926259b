/** `stock-mirror follow URL`: a read-only copy of the mirror that a primary serves, in the foreground. */
import { Command, InvalidArgumentError } from 'commander';
import { runService } from '../app/serve.ts';
import { environmentWith } from '../config/config.ts';
import { explained } from './shared/explained.ts';

interface FollowOptions {
  readonly tokenFile?: string;
  readonly database?: string;
}

export function followCommand(): Command {
  const command = new Command('follow')
    .argument('<url>', 'the private listener of the primary, such as https://primary:8788', primaryUrl)
    .option('--token-file <file>', 'a file with the OPS_TOKEN of the primary, instead of LOG_TOKEN')
    .option('--database <path>', 'where the copy is kept, instead of DATABASE_PATH')
    .action(async (url: string, options: FollowOptions) => {
      process.exitCode = await runService(environmentFor(url, options));
    });
  return explained(command, {
    notes: `
The copy begins with a snapshot of the primary and then follows its event log: it is equal row by row, its numbers of
the change feed included, and can be read in the same ways. Webhooks go to the primary alone; the copy asks nothing of
the store and needs none of its settings. It has a private listener of its own, as OPS_HOST, OPS_PORT and OPS_TOKEN say.

While the primary cannot be reached, the copy stays as it is, says so, and catches up by itself. When the primary is
gone for good, stop the copy and run \`stock-mirror promote\`.`,
    examples: [
      {
        what: 'a copy of the mirror on another host',
        run: 'stock-mirror follow https://primary.example:8788 --token-file /etc/stock-mirror/primary-token',
      },
      {
        what: 'beside another mirror on this host',
        run: 'OPS_PORT=8790 stock-mirror follow http://127.0.0.1:8788 --database ./copy/mirror.db',
      },
    ],
  });
}

function primaryUrl(value: string): string {
  if (/^https?:\/\//i.test(value)) return value;
  throw new InvalidArgumentError('It takes an address that begins with https:// or http://.');
}

/** As if LOG_URL and the others were set: one way to configure it, and one to check. */
function environmentFor(url: string, { tokenFile, database }: FollowOptions) {
  return environmentWith({
    LOG_URL: url,
    ...(tokenFile === undefined ? {} : { LOG_TOKEN: undefined, LOG_TOKEN_FILE: tokenFile }),
    ...(database === undefined ? {} : { DATABASE_PATH: database }),
  });
}
