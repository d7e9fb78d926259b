/** `stock-mirror status`: the mirror's state, from the running mirror, or from the database when none runs. */
import { Command } from 'commander';
import { z } from 'zod';
import { loadLocalConfig, type LocalConfig } from '../config/config.ts';
import { eventLogPath } from '../event-log/open-log.ts';
import { lag, type Lag } from '../mirror/queries/lag.ts';
import { attachEventLog } from '../event-log/open-both.ts';
import { type Db } from '../sqlite/open.ts';
import { status as readStatus } from '../mirror/queries/status.ts';
import { isThere } from '../sqlite/is-there.ts';
import { MIRROR_STATES } from '../mirror/file/state.ts';
import { isDatabaseLocked } from '../sqlite/lock.ts';
import { ago } from './shared/ago.ts';
import { colours } from './shared/colours.ts';
import { EXIT } from './shared/exit-codes.ts';
import { explained } from './shared/explained.ts';
import { interruptible } from './shared/interrupt.ts';
import { openMirrorFile } from './shared/mirror-file.ts';
import { blockedSchema, opsClient } from './shared/ops-client.ts';
import { clock, watchStatus } from './status/watch.ts';
import { heldWords } from '../ops/alarms/held-words.ts';

const statusSchema = z.looseObject({
  state: z.enum(MIRROR_STATES),
  epoch: z.string(),
  schema_version: z.number(),
  last_delivery_at: z.number().nullable(),
  last_full_sync_at: z.number().nullable(),
  oldest_verified_at: z.number().nullable(),
  pending_reads: z.number(),
  suspect_count: z.number(),
  open_gaps: z.number(),
  last_seq: z.number(),
  alive_at: z.number().nullable(),
  products: z.number(),
  variants: z.number(),
  cells: z.number(),
  parked_reads: z.number(),
  failing_reads: z.number(),
  last_read_error: z.string().nullable(),
  held_removals: z.number(),
  held_variants: z.number(),
  held_levels: z.number(),
  quarantined: z.number(),
  /** Entries of the event log that the mirror does not hold yet, and the arrival of the first of them. */
  entries_behind: z.number().nullish(),
  behind_since: z.number().nullish(),
  blocked: blockedSchema.nullish(),
  alarms: z.array(z.object({ kind: z.string(), since: z.number(), message: z.string() })).nullish(),
});

type ShownStatus = z.infer<typeof statusSchema>;

interface Sight {
  readonly status: ShownStatus;
  readonly serving: boolean;
}

interface StatusOptions {
  readonly json?: boolean;
  readonly watch?: boolean;
}

export function statusCommand(): Command {
  const command = new Command('status')
    .option('--json', 'print it as JSON')
    .option(
      '--watch',
      'look again every 2 s, until Ctrl-C: drawn anew on a terminal, else a line for each look',
    )
    .action(async (options: StatusOptions) => {
      const config = loadLocalConfig();
      if (options.watch === true) {
        const interrupted = interruptible();
        await watchStatus(async () => {
          const sight = await findStatus(config);
          return {
            text: textOf(sight, options, config),
            line: options.json === true ? jsonOf(sight) : lineOf(sight),
          };
        }, interrupted);
        if (interrupted.aborted) process.exitCode = EXIT.interrupted;
        return;
      }
      const sight = await findStatus(config);
      process.stdout.write(textOf(sight, options, config));
      process.exitCode = sight.status.state === 'live' ? EXIT.done : EXIT.failed;
    });
  return explained(command, {
    examples: [
      { what: 'how the mirror is', run: 'stock-mirror status' },
      { what: 'how it comes along', run: 'stock-mirror status --watch' },
      {
        what: 'what it waits for, for a program',
        run: "stock-mirror status --json | jq '{state, pending_reads, suspect_count}'",
      },
    ],
  });
}

function textOf(sight: Sight, { json }: StatusOptions, config: LocalConfig): string {
  return json === true ? `${jsonOf(sight)}\n` : describe(sight, config);
}

function jsonOf({ status, serving }: Sight): string {
  return JSON.stringify({ ...status, serving });
}

function lineOf({ status, serving }: Sight): string {
  const { state, suspect_count: suspect, cells: levels, pending_reads: reads, last_seq: seq } = status;
  const from = serving ? '' : '  not running';
  return `${clock()}  ${state}${from}  ${suspect} of ${levels} stock levels suspect  ${reads} reads pending  feed at ${seq}`;
}

async function findStatus(config: LocalConfig): Promise<Sight> {
  const served = await opsClient(config.ops).get('/api/status', statusSchema);
  if (served !== null) return { status: served, serving: true };
  if (!isThere(config.database.path)) {
    throw new Error(
      `no mirror runs and ${config.database.path} does not exist: start it with \`stock-mirror serve\``,
    );
  }
  const db = openMirrorFile(config.database.path);
  try {
    const behind = lagOf(config.database.path, db);
    const told = { entries_behind: behind?.entries ?? null, behind_since: behind?.sinceMs ?? null };
    return { status: { ...readStatus(db), ...told }, serving: false };
  } finally {
    db.close();
  }
}

/** @returns null when there is no event log. */
function lagOf(path: string, db: Db): Lag | null {
  if (!isThere(eventLogPath(path))) return null;
  attachEventLog(db, path);
  return lag(db);
}

function notServing({ database, ops }: LocalConfig): string {
  if (!isDatabaseLocked(database.path)) return colours.red('not running');
  return colours.yellow(
    `no answer at ${ops.host}:${ops.port}, but a process holds the database: a mirror with another OPS_PORT, or a resync`,
  );
}

function describe({ status, serving }: Sight, config: LocalConfig): string {
  const paint = { live: colours.green, catching_up: colours.yellow, stale: colours.red }[status.state];
  const rows: [string, string][] = [
    ['state', paint(status.state)],
    ['mirror', serving ? 'running' : notServing(config)],
    ['database', config.database.path],
    ['mirrored', `${status.products} products, ${status.variants} variants, ${status.cells} stock levels`],
    ['last delivery', ago(status.last_delivery_at)],
    ['last full sync', ago(status.last_full_sync_at)],
    ['oldest verified', ago(status.oldest_verified_at)],
    ['pending reads', String(status.pending_reads)],
    ['suspect levels', String(status.suspect_count)],
    ['open gaps', String(status.open_gaps)],
    ['change feed', `at ${status.last_seq}, epoch ${status.epoch}`],
  ];
  const behind = status.entries_behind ?? 0;
  if (behind > 0) {
    const how = serving ? '' : '; the next start applies them';
    rows.push([
      'event log',
      `${behind} entries not applied yet, the first ${ago(status.behind_since ?? null)}${how}`,
    ]);
  }
  if (status.quarantined > 0) rows.push(['dead letters', `${status.quarantined} deliveries or items`]);
  if (status.parked_reads > 0) {
    rows.push([
      'parked reads',
      `${status.parked_reads}, refused or failed too often; \`resync\` tries them again`,
    ]);
  }
  if (status.last_read_error !== null) {
    rows.push(['failing reads', `${status.failing_reads}, the latest: ${status.last_read_error}`]);
  }
  if (status.held_removals > 0) {
    rows.push(['held removals', `${heldWords(status)}; \`resync --allow-removals\` removes them`]);
  }
  if (status.blocked !== null && status.blocked !== undefined) {
    rows.push([colours.red('not reading'), status.blocked.message]);
  }
  for (const { kind, since, message } of status.alarms ?? []) {
    // Shown already, as the reason why nothing is read.
    if (message === status.blocked?.message) continue;
    rows.push([colours.red('alarm'), `${kind}, ${ago(since)}: ${message}`]);
  }
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `${name.padEnd(width)}  ${value}\n`).join('');
}
