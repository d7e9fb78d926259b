/** `stock-mirror rebuild`: makes the mirror anew from its event log, or says where it is not what the event log says. */
import { Command } from 'commander';
import { loadLocalConfig, type LocalConfig } from '../config/config.ts';
import { rebuildMirror, type Rebuilt } from '../mirror/rebuild.ts';
import type { RebuildAnswer } from './shared/answers.ts';
import { EXIT } from './shared/exit-codes.ts';
import { explained } from './shared/explained.ts';
import { interruptible } from './shared/interrupt.ts';
import { createWorkProgress } from './shared/progress.ts';

interface RebuildOptions {
  readonly check?: boolean;
  readonly json?: boolean;
}

export function rebuildCommand(): Command {
  const command = new Command('rebuild')
    .option(
      '--check',
      'only compare, also beside a running mirror; exits 1 when a table differs, and names it',
    )
    .option('--json', 'print the result as JSON')
    .action(async (options: RebuildOptions) => {
      process.exitCode = await rebuild(options, loadLocalConfig());
    });
  return explained(command, {
    notes: `
The mirror is made of the event log alone, entry by entry, in a draft beside it, which takes as much room. Without --check
no mirror may run: the draft then takes the place of the mirror. Where its rows were not what the event log
says, a new epoch begins with the next start: readers of the change feed start over.

It needs every entry since the beginning. Where old ones are pruned, nothing is changed, and the exit code is 1:
\`stock-mirror resync\` reads everything again from the store. Ctrl-C changes nothing.`,
    examples: [
      {
        what: 'where the mirror is not what the event log says, beside the running mirror',
        run: 'stock-mirror rebuild --check',
      },
      { what: 'the mirror made anew, while none runs', run: 'stock-mirror rebuild' },
    ],
  });
}

async function rebuild(options: RebuildOptions, { database, warehouseNames }: LocalConfig): Promise<number> {
  const isCheck = options.check === true;
  const progress = createWorkProgress(process.stderr, { unit: 'entries', atFirst: 'reading the event log' });
  let rebuilt;
  try {
    rebuilt = await rebuildMirror(database.path, {
      check: isCheck,
      nowMs: Date.now(),
      warehouseNames,
      onProgress: (done, total) => progress.show({ done, total }),
      interrupted: interruptible(),
    });
  } finally {
    progress.end();
  }
  if (rebuilt === null) {
    process.stderr.write('stopped; nothing was changed\n');
    return EXIT.interrupted;
  }
  const { entries, differing, unreadable, newEpoch, rules } = rebuilt;
  if (options.json === true) {
    const versions = rules.map(({ version, fromSeq }) => ({ version, from_seq: fromSeq }));
    const json: RebuildAnswer = { entries, differing, unreadable, new_epoch: newEpoch, rules: versions };
    process.stdout.write(`${JSON.stringify(json)}\n`);
  } else {
    process.stdout.write(describe(rebuilt, { isCheck }, database.path));
  }
  return isCheck && (differing === null || differing.length > 0) ? EXIT.failed : EXIT.done;
}

function describe(
  { entries, differing, unreadable, newEpoch, rules }: Rebuilt,
  { isCheck }: { readonly isCheck: boolean },
  path: string,
): string {
  const lines: string[] = [];
  if (unreadable !== null) lines.push(`not compared: ${unreadable}`);
  else if (differing === null) lines.push(`${path} does not exist: nothing was compared`);
  else if (differing.length === 0) lines.push('every table is what the event log says');
  else lines.push(`not what the event log says: ${differing.join(', ')}`);
  const since = rules.at(-1)?.fromSeq ?? 1;
  if (since > 1 && differing !== null && differing.length > 0) {
    lines.push(
      `entries before ${since} had been applied by the rules of an earlier version, which may be why`,
    );
  }
  if (!isCheck) lines.push(`${path} was made anew from ${entries} entries`);
  if (newEpoch) lines.push('the next start begins a new epoch: readers of the change feed start over');
  return `${lines.join('\n')}\n`;
}
