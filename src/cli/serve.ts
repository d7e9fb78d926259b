import { Command } from 'commander';
import { runService } from '../app/serve.ts';
import { explained } from './shared/explained.ts';

export function createCommand(): Command {
  const command = new Command('serve').action(async () => {
    process.exitCode = await runService();
  });
  return explained(command, {
    examples: [
      { what: 'the mirror in this folder', run: 'stock-mirror serve' },
      {
        what: 'with a database elsewhere',
        run: 'DATABASE_PATH=/var/lib/stock-mirror/mirror.db stock-mirror serve',
      },
    ],
  });
}
