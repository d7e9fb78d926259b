/**
 * `stock-mirror doctor`: what could keep the mirror from being right, each with its remedy
 * (docs/operating.md#commands).
 */
import { Command } from 'commander';
import { ConfigError, describeConfig, loadConfig, type Config } from '../config/config.ts';
import type { DescribedVariable } from '../config/config.ts';
import { colours } from './shared/colours.ts';
import { messageOf } from '../platform/thrown.ts';
import { visible } from '../platform/visible.ts';
import { describeCheck, fail, ok, warn, type Check } from './doctor/check.ts';
import { checkDatabase } from './doctor/database.ts';
import { checkServer } from './doctor/server.ts';
import { checkService } from './doctor/service.ts';
import { checkWal } from './doctor/wal.ts';
import { EXIT } from './shared/exit-codes.ts';
import { explained } from './shared/explained.ts';

interface DoctorOptions {
  readonly full?: boolean;
  readonly json?: boolean;
}

const RECOMMENDED_NODE = 24;

export function doctorCommand(): Command {
  const command = new Command('doctor')
    .option('--full', 'also check every index of the database against its table, which takes longer')
    .option('--json', 'print the checks as JSON')
    .action(async (options: DoctorOptions) => {
      process.exitCode = await doctor(options);
    });
  return explained(command, {
    notes: `
It changes nothing, and may run beside the mirror. It requests a token from the store only when no cached token is valid,
once, and never during a credential lockout: when the store has refused the credentials and they have not been corrected.
A wrong configuration is exit code 2.`,
    examples: [
      { what: 'all checks, each with its remedy', run: 'stock-mirror doctor' },
      {
        what: 'what is wrong, for a program',
        run: 'stock-mirror doctor --json | jq \'.checks[] | select(.status != "ok")\'',
      },
    ],
  });
}

async function doctor(options: DoctorOptions): Promise<number> {
  const variables = describeConfig();
  const shown: Check[] = [];
  const show = (...checks: Check[]): void => {
    shown.push(...checks);
    if (options.json !== true) process.stdout.write(checks.map(describeCheck).join(''));
  };
  show(checkNode());
  const config = readConfig(show, variables);
  if (config !== null) {
    if (options.json !== true) process.stdout.write(variables.map(describeVariable).join(''));
    const { path } = config.database;
    show(...(await guarded('database', () => checkDatabase(path, { full: options.full === true }))));
    show(...(await guarded('write-ahead log', () => checkWal(path), warn)));
    show(...(await guarded('server', () => checkServer(config))));
    show(...(await guarded('credentials', () => checkService(config))));
  }
  const failed = shown.filter(({ status }) => status === 'fail').length;
  if (options.json === true) {
    const answer = { ok: failed === 0, checks: shown, variables: [...variables] };
    process.stdout.write(`${JSON.stringify(answer)}\n`);
  }
  if (config === null) return EXIT.usage;
  return failed === 0 ? EXIT.done : EXIT.failed;
}

function readConfig(
  show: (...checks: Check[]) => void,
  variables: readonly DescribedVariable[],
): Config | null {
  try {
    const config = loadConfig();
    const set = variables.filter(({ source }) => source === 'set').length;
    show(ok('configuration', `${set} variables are set, ${variables.length - set} are not`));
    show(
      ...config.warnings.map(({ name, problem, remedy }) =>
        warn('configuration', `${name} ${problem}`, remedy),
      ),
    );
    return config;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    show(
      ...error.problems.map(({ name, problem, remedy }) =>
        fail('configuration', `${name} ${problem}`, remedy),
      ),
    );
    return null;
  }
}

function checkNode(): Check {
  const { node } = process.versions;
  if (Number(node.split('.')[0]) >= RECOMMENDED_NODE) return ok('node', node);
  return warn('node', `${node} is enough, and ${RECOMMENDED_NODE} recommended`, 'install a newer Node.js');
}

/** A check that cannot be made does not keep the others from being made. */
async function guarded(
  name: string,
  look: () => Check | readonly Check[] | Promise<Check | readonly Check[]>,
  otherwise: typeof fail = fail,
): Promise<readonly Check[]> {
  try {
    return [await look()].flat();
  } catch (error) {
    return [
      otherwise(
        name,
        messageOf(error),
        'the check could not be made: run this as the user who runs the mirror',
      ),
    ];
  }
}

function describeVariable({ name, source, value }: DescribedVariable): string {
  const shown = source === 'unset' ? 'not set' : source === 'default' ? `${value} (default)` : value;
  return colours.dim(`        ${name} = ${visible(shown ?? '')}\n`);
}
