import { Command } from 'commander';
import { runService } from '../app/serve.ts';

/** `stock-mirror serve`: the mirror in the foreground, as `npm start` runs it. */
export function serveCommand(): Command {
  return new Command('serve').action(async () => {
    process.exitCode = await runService();
  });
}
