/**
 * `stock-mirror demo`: runs a simulated store and a real mirror over a very bad network, then compares every figure of
 * the mirror with the store's.
 */
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { startSandbox, type Sandbox } from '../sandbox/sandbox.ts';
import { isInUse, Stage, USUAL, type StageOptions } from './demo/stage.ts';
import { EXIT } from './shared/exit-codes.ts';
import { explained } from './shared/explained.ts';
import { runsUnattended } from '../config/config.ts';
import { decimal, whole } from './shared/flags.ts';

interface DemoOptions extends StageOptions {
  readonly seed: number;
}

export function demoCommand(): Command {
  const command = new Command('demo')
    .option(
      '--seconds <number>',
      'end with a verdict after about this time; without it, the verdict comes after 40 s, and Ctrl-C ends the demo',
      whole(10, 86_400),
    )
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
  return explained(command, {
    examples: [
      { what: 'a verdict after 40 seconds', run: 'stock-mirror demo' },
      {
        what: 'a larger store',
        run: 'stock-mirror demo --products 500 --rate 50',
      },
    ],
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

  const sandbox = await openStore(options);
  const stage = new Stage(options, sandbox, {
    databasePath: join(folder, 'stock-mirror.db'),
    write: (text) => process.stdout.write(text),
  });
  const isAtTerminal = process.stdout.isTTY && process.stdin.isTTY && !runsUnattended();
  try {
    return await stage.play(interrupted.signal, { goOn: options.seconds === undefined && isAtTerminal });
  } finally {
    await stage.end();
    await sandbox.stop();
  }
}

async function openStore({ seed, products }: DemoOptions): Promise<Sandbox> {
  const open = (port: number) => startSandbox({ seed, products, port });
  try {
    return await open(USUAL.store);
  } catch (error) {
    if (isInUse(error)) return open(0);
    throw error;
  }
}
