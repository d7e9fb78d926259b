/**
 * `stock-mirror demo`: runs a simulated store and a real mirror over a very bad network, then compares every figure of
 * the mirror with the store's.
 */
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { startSandbox } from '../sandbox/sandbox.ts';
import { Stage, type StageOptions } from './demo/stage.ts';
import { EXIT } from './exit-codes.ts';
import { decimal, whole } from './flags.ts';

interface DemoOptions extends StageOptions {
  readonly seed: number;
}

export function demoCommand(): Command {
  return new Command('demo')
    .option('--seconds <number>', 'end after about this time; without it, Ctrl-C ends it', whole(10, 86_400))
    .option('--products <count>', 'products in the store', whole(5, 100_000), 60)
    .option('--rate <changes>', 'stock changes per second', decimal(0.1, 1_000), 12)
    .option(
      '--seed <number>',
      'the same seed gives the same store and the same faults',
      whole(0, 4_294_967_295),
      1,
    )
    .action(async (options: DemoOptions) => {
      process.exitCode = await demo(options);
    });
}

async function demo(options: DemoOptions): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'stock-mirror-demo-'));
  // In every case: at the end, and on a signal.
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  for (const signal of ['SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => process.exit(EXIT.failed));
  }
  const interrupted = new AbortController();
  process.once('SIGINT', () => {
    interrupted.abort();
    process.once('SIGINT', () => process.exit(EXIT.interrupted));
  });

  const sandbox = await startSandbox({ seed: options.seed, products: options.products });
  const stage = new Stage(options, sandbox, join(folder, 'stock-mirror.db'));
  try {
    return await stage.play(interrupted.signal);
  } finally {
    await stage.end();
    await sandbox.stop();
  }
}
