import { Command } from 'commander';
import { requireNats } from '../app/nats.ts';
import {
  ConfigError,
  describeConfig,
  loadConfig,
  type Config,
  type DescribedVariable,
} from '../config/config.ts';
import { messageOf } from '../platform/thrown.ts';
import { visible } from '../platform/visible.ts';
import { describeCheck, fail, ok, warn, type Check, type Finding } from './doctor/check.ts';
import { checkDatabase, checkDisk, checkInbox, checkPermissions } from './doctor/files.ts';
import { checkProcess, checkWebhookListener } from './doctor/mirror.ts';
import { checkStore } from './doctor/store.ts';
import { checkStream } from './doctor/stream.ts';
import { checkSchedules, checkSystem } from './doctor/system.ts';
import { colours } from './shared/colours.ts';
import { EXIT } from './shared/exit-codes.ts';
import { explained } from './shared/explained.ts';

interface DoctorOptions {
  readonly full?: boolean;
  readonly settings?: boolean;
  readonly json?: boolean;
}

type Look = (config: Config, options: { readonly full: boolean }) => Findings | Promise<Findings>;
type Findings = Finding | readonly Finding[];

type Roles = readonly Config['role'][];

const MIRRORS: Roles = ['both', 'mirror'];
const RECEIVERS: Roles = ['both', 'receiver'];

const CHECKS: readonly (readonly [name: string, look: Look, roles?: Roles])[] = [
  ['system', checkSystem],
  ['database', ({ database }, options) => checkDatabase(database.path, options), MIRRORS],
  ['inbox', ({ database }, options) => checkInbox(database.path, options)],
  ['disk', ({ database }) => checkDisk(database.path)],
  ['permissions', ({ database }) => checkPermissions(database.path)],
  ['mirror', checkProcess, MIRRORS],
  ['receiver', checkProcess, ['receiver']],
  ['webhook listener', checkWebhookListener, RECEIVERS],
  ['stream', checkStream],
  ['store', checkStore, MIRRORS],
  ['schedules', ({ schedules }) => checkSchedules(schedules), MIRRORS],
];

export function createCommand(): Command {
  const command = new Command('doctor')
    .option('--full', 'also check every index of the database against its table, which takes longer')
    .option('--settings', 'show every setting, including defaults')
    .option('--json', 'print the checks and all settings as JSON')
    .action(async (options: DoctorOptions) => {
      process.exitCode = await doctor(options);
    });
  return explained(command, {
    notes: `
It changes nothing, and may run while the mirror runs. It requests a token from the store only if no cached token is valid,
and never after the store has refused the current credentials. Exit code 2: the configuration is wrong.`,
    examples: [
      { what: 'all checks, each with its remedy', run: 'stock-mirror doctor' },
      {
        what: 'problems only, as JSON',
        run: 'stock-mirror doctor --json | jq \'.checks[] | select(.status != "ok")\'',
      },
    ],
  });
}

async function doctor({ full = false, settings = false, json = false }: DoctorOptions): Promise<number> {
  const variables = describeConfig();
  const checks: Check[] = [];
  const show = (name: string, findings: Findings): void => {
    const named = [findings].flat().map((finding) => ({ name, ...finding }));
    checks.push(...named);
    if (!json) process.stdout.write(named.map(describeCheck).join(''));
  };
  const { config, findings } = await readConfig(variables);
  show('configuration', findings);
  if (config !== null) {
    const shown = variables.filter(({ source }) => settings || source === 'set');
    if (!json) process.stdout.write(shown.map(describeVariable).join(''));
    for (const [name, look, roles] of CHECKS) {
      if (roles?.includes(config.role) === false) continue;
      try {
        show(name, await look(config, { full }));
      } catch (error) {
        show(name, fail(messageOf(error), null));
      }
    }
  }
  const isOk = checks.every(({ status }) => status !== 'fail');
  if (json) process.stdout.write(`${JSON.stringify({ ok: isOk, checks, variables })}\n`);
  if (config === null) return EXIT.usage;
  return isOk ? EXIT.done : EXIT.failed;
}

async function readConfig(
  variables: readonly DescribedVariable[],
): Promise<{ readonly config: Config | null; readonly findings: readonly Finding[] }> {
  try {
    const config = loadConfig();
    if (config.stream !== null) await requireNats();
    const set = variables.filter(({ source }) => source === 'set').length;
    const warnings = config.warnings.map(({ name, problem, remedy }) => warn(`${name} ${problem}`, remedy));
    return { config, findings: [ok(`${set} of ${variables.length} variables are set`), ...warnings] };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const problems = error.problems.map(({ name, problem, remedy }) => fail(`${name} ${problem}`, remedy));
    return { config: null, findings: problems };
  }
}

function describeVariable({ name, source, value }: DescribedVariable): string {
  const shown = source === 'unset' ? 'not set' : source === 'default' ? `${value} (default)` : value;
  return colours.dim(`        ${name} = ${visible(shown ?? '')}\n`);
}
