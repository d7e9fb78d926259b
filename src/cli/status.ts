/** `stock-mirror status`: the mirror's state, from the running mirror, or from the database when none runs. */
import { Command } from 'commander';
import { z } from 'zod';
import { loadLocalConfig, type LocalConfig } from '../config/config.ts';
import { besides } from '../ops/alarms/alarm.ts';
import { capital, ownerWords } from '../ops/condition/cause.ts';
import {
  CONDITIONS,
  CONDITION_TITLES,
  conditionOf,
  reservationOf,
  shareText,
  timesOf,
  type Serving,
} from '../ops/condition/condition.ts';
import { StoreError } from '../sqlite/errors.ts';
import { table } from './shared/table.ts';
import { inboxPath } from '../inbox/inbox.ts';
import { lag, type Lag } from '../mirror/queries/inbox.ts';
import { attachInbox } from '../mirror/reader/serve-queries.ts';
import { type Db } from '../sqlite/open.ts';
import { status as readStatus } from '../mirror/queries/status.ts';
import { isThere } from '../sqlite/is-there.ts';
import { isDatabaseLocked } from '../sqlite/lock.ts';
import { ago } from './shared/ago.ts';
import { causeSchema } from './shared/cause-schema.ts';
import { colours } from './shared/colours.ts';
import { EXIT } from './shared/exit-codes.ts';
import { explained } from './shared/explained.ts';
import { openMirrorFile } from './shared/mirror-file.ts';
import { opsClient, WrongTokenError } from './shared/ops-client.ts';
import { heldWords } from '../ops/alarms/held-words.ts';
import { visibleIn } from '../platform/visible.ts';

const statusSchema = z.looseObject({
  state: z.string(),
  epoch: z.string(),
  last_delivery_at: z.number().nullable(),
  last_full_sync_at: z.number().nullable(),
  oldest_verified_at: z.number().nullable(),
  pending_reads: z.number(),
  suspect_count: z.number(),
  open_gaps: z.number(),
  last_seq: z.number(),
  products: z.number(),
  variants: z.number(),
  levels: z.number(),
  parked_reads: z.number(),
  failing_reads: z.number(),
  last_read_error: z.string().nullable(),
  held_removals: z.number(),
  held_variants: z.number(),
  held_levels: z.number(),
  dead_letters: z.number(),
  deliveries_behind: z.number().nullable(),
  behind_since: z.number().nullable(),
  blocked: z.object({ kind: z.string(), message: z.string() }).nullish(),
  condition: z.enum(CONDITIONS),
  headline: z.string(),
  causes: z.array(causeSchema).readonly(),
  certain_levels: z.number(),
  certain_share: z.number().nullable(),
  alarms: z.array(z.object({ kind: z.string(), since: z.number(), message: z.string() })).nullish(),
});

type Status = z.infer<typeof statusSchema>;

interface Sight {
  readonly status: Status;
  readonly serving: Serving;
}

export function statusCommand(): Command {
  const command = new Command('status')
    .option('--json', 'print it as JSON')
    .action(async (options: { readonly json?: boolean }) => {
      const config = loadLocalConfig();
      const sight = await findStatus(config);
      const { status, serving } = sight;
      process.stdout.write(
        options.json === true
          ? `${JSON.stringify({ ...status, serving: serving === 'yes' })}\n`
          : describe(visibleIn(sight), config),
      );
      process.exitCode = isLive(status) ? EXIT.done : EXIT.failed;
    });
  return explained(command, {
    notes: `
It needs no settings of the store. Exit code 0 only when a mirror keeps the file up and its figures can be relied on, except
those marked suspect.`,
    examples: [
      { what: 'how the mirror is', run: 'stock-mirror status' },
      {
        what: 'how far it can be relied on, for a program',
        run: "stock-mirror status --json | jq '{condition, certain_share, suspect_count}'",
      },
    ],
  });
}

function isLive({ state, condition }: Status): boolean {
  return state === 'live' && (condition === 'live' || condition === 'repairing');
}

async function findStatus(config: LocalConfig): Promise<Sight> {
  const served = await askServer(config);
  if (served !== null) return { status: served, serving: 'yes' };
  const { path } = config.database;
  if (!isThere(path)) {
    throw new Error(`no mirror runs and ${path} does not exist: start it with \`stock-mirror serve\``);
  }
  const db = openMirrorFile(path);
  try {
    const behind = lagOf(path, db);
    const held = readStatus(db);
    const serving = servingOf(path, held);
    const { name, headline, causes, certainty } = conditionOf({
      status: held,
      nowMs: Date.now(),
      serving,
      blocked: null,
      own: null,
      maxRps: null,
    });
    const status = {
      ...held,
      deliveries_behind: behind?.deliveries ?? null,
      behind_since: behind?.sinceMs ?? null,
      condition: name,
      headline,
      causes,
      certain_levels: certainty.certain,
      certain_share: certainty.share,
    };
    return { status, serving };
  } finally {
    db.close();
  }
}

/** @returns null when nothing answers that this user may ask. */
async function askServer(config: LocalConfig): Promise<Status | null> {
  try {
    return await opsClient(config.ops).get('/api/status', statusSchema);
  } catch (error) {
    // Without a token of its own an account may still read the file.
    if (error instanceof WrongTokenError && config.ops.token === null) return null;
    throw error;
  }
}

/** Whether a process keeps the file. Where this user may not look for it, the heartbeat in the file tells. */
function servingOf(path: string, { state_cause: cause }: { readonly state_cause: string | null }): Serving {
  try {
    return isDatabaseLocked(inboxPath(path)) ? 'held' : 'no';
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    return cause === 'no_heartbeat' || cause === 'stopped' ? 'no' : 'held';
  }
}

/** @returns null when there is no inbox. */
function lagOf(path: string, db: Db): Lag | null {
  if (!isThere(inboxPath(path))) return null;
  attachInbox(db, path);
  return lag(db);
}

function servingWords(serving: Serving, { ops }: LocalConfig): string {
  switch (serving) {
    case 'yes':
      return 'running';
    case 'no':
      return colours.red('not running');
    case 'held':
      return colours.yellow(
        `no answer at ${ops.host}:${ops.port}, but a process holds the database: a mirror with another OPS_PORT, or a resync`,
      );
  }
}

const PAINT = {
  live: colours.green,
  repairing: colours.yellow,
  catching_up: colours.yellow,
  blocked: colours.red,
} as const;

/** The state and why, whose it is, what to do, and how many figures are certain: before everything else. */
function stateRows(status: Status): [string, string][] {
  const { condition: name, headline, causes } = status;
  const certainty = { share: status.certain_share, certain: status.certain_levels, levels: status.levels };
  const nowMs = Date.now();
  const rows: [string, string][] = [['state', `${PAINT[name](CONDITION_TITLES[name])}: ${headline}`]];
  causes.forEach((cause, index) => {
    if (name !== 'blocked' || index > 0) rows.push([colours.yellow('also'), cause.cause]);
    rows.push(['', `${ownerWords(cause)}.`], ['', `${capital(cause.figures)}.`]);
    rows.push(['what to do', cause.remedy]);
    const times = timesOf(cause, nowMs);
    if (times !== '') rows.push(['', `${capital(times)}.`]);
  });
  const { certain, levels, share } = certainty;
  const of = share === null ? '' : `, ${certain} of ${levels} stock levels`;
  rows.push(['certain', `${shareText(certainty)}${of}`]);
  const reservation = reservationOf({ causes, certainty });
  if (reservation !== null) rows.push(['', `${reservation}.`]);
  return rows;
}

function describe({ status, serving }: Sight, config: LocalConfig): string {
  const rows: [string, string][] = [
    ...stateRows(status),
    ['mirror', servingWords(serving, config)],
    ['database', config.database.path],
    ['mirrored', `${status.products} products, ${status.variants} variants, ${status.levels} stock levels`],
    ['last delivery', ago(status.last_delivery_at)],
    ['last full sync', ago(status.last_full_sync_at)],
    ['oldest verified', ago(status.oldest_verified_at)],
    ['pending reads', String(status.pending_reads)],
    ['suspect levels', String(status.suspect_count)],
    ['open gaps', String(status.open_gaps)],
    ['change feed', `at ${status.last_seq}, epoch ${status.epoch}`],
  ];
  const behind = status.deliveries_behind ?? 0;
  if (behind > 0) {
    const how = serving === 'yes' ? '' : '; the next start applies them';
    rows.push(['inbox', `${behind} deliveries not applied yet, the first ${ago(status.behind_since)}${how}`]);
  }
  if (status.dead_letters > 0) rows.push(['dead letters', `${status.dead_letters} deliveries or items`]);
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
  for (const { kind, since, message } of besides(status.alarms ?? [], status.causes)) {
    rows.push([colours.red('alarm'), `${kind}, ${ago(since)}: ${message}`]);
  }
  return table(rows);
}
