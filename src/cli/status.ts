import { stripVTControlCharacters } from 'node:util';
import { Command } from 'commander';
import { z } from 'zod';
import { loadLocalConfig, type LocalConfig } from '../config/config.ts';
import { stateFacts } from '../mirror/queries/state-facts.ts';
import { lag, status as readStatus } from '../mirror/queries/status.ts';
import { attachInbox } from '../mirror/reader/serve-queries.ts';
import { stateFromOutside } from '../ops/state/state.ts';
import { ago } from '../platform/amounts.ts';
import { visibleIn } from '../platform/visible.ts';
import { StoreError } from '../sqlite/errors.ts';
import { isThere } from '../sqlite/is-there.ts';
import { isDatabaseLocked } from '../sqlite/lock.ts';
import { colours } from './shared/colours.ts';
import { EXIT } from './shared/exit-codes.ts';
import { explained } from './shared/explained.ts';
import { openMirrorFile } from './shared/mirror-file.ts';
import { opsClient, stateSchema, WrongTokenError } from './shared/ops-client.ts';

type Status = z.infer<typeof stateSchema>;

/** Absent while the mirror's file cannot be read. */
const countsSchema = z.object({
  epoch: z.string(),
  last_seq: z.number(),
  last_delivery_at: z.number().nullable(),
  last_full_sync_at: z.number().nullable(),
  oldest_verified_at: z.number().nullable(),
  products: z.number(),
  variants: z.number(),
  levels: z.number(),
  suspect_count: z.number(),
  pending_reads: z.number(),
  open_gaps: z.number(),
  dead_letters: z.number(),
  last_read_error: z.string().nullable(),
  deliveries_behind: z.number().nullable(),
  behind_since: z.number().nullable(),
});

export function createCommand(): Command {
  const command = new Command('status')
    .option('--json', 'print it as JSON')
    .action(async (options: { readonly json?: boolean }) => {
      const config = loadLocalConfig();
      const { path } = config.database;
      // The mirror at OPS_PORT may be another one's unless a process holds this file. If unknown, its heartbeat decides.
      const isHeld = ifReadable(() => isDatabaseLocked(path), true);
      const answer = isHeld ? await askServer(config) : null;
      const [served, hidden] = typeof answer === 'string' ? [null, answer] : [answer, null];
      const status = served ?? readFile(path, { isHeld });
      process.stdout.write(
        options.json === true
          ? `${JSON.stringify({ ...status, serving: served !== null })}\n`
          : describe(visibleIn(status), { path, hidden }),
      );
      process.exitCode = status.state === 'live' ? EXIT.done : EXIT.failed;
    });
  return explained(command, {
    notes: `
It needs no settings of the store. Exit code 0: a mirror runs, and its state is live.`,
    examples: [
      { what: 'the state of the mirror', run: 'stock-mirror status' },
      {
        what: 'state, causes and suspect levels, as JSON',
        run: "stock-mirror status --json | jq '{state, causes: [.causes[].code], suspect_count}'",
      },
    ],
  });
}

/** @returns the reason if nothing answers, or if this user has no token. */
async function askServer({ ops }: LocalConfig): Promise<Status | string> {
  const silence = `a process holds the database but does not answer at ${ops.host}:${ops.port}: check OPS_HOST and OPS_PORT`;
  try {
    return (await opsClient(ops).get('/api/status', stateSchema)) ?? silence;
  } catch (error) {
    if (error instanceof WrongTokenError && (ops.token ?? ops.readToken) === null) return error.message;
    throw error;
  }
}

function readFile(path: string, { isHeld }: { readonly isHeld: boolean }): Status {
  if (!isThere(path)) {
    throw new Error(
      `no mirror runs, and ${path} does not exist: run \`stock-mirror serve\`, or correct DATABASE_PATH`,
    );
  }
  const db = openMirrorFile(path);
  try {
    const behind = ifReadable(() => {
      attachInbox(db, path);
      return lag(db);
    }, null);
    const status = readStatus(db);
    return {
      ...status,
      ...stateFromOutside({
        file: stateFacts(db, { nowMs: null }),
        pendingReads: status.pending_reads,
        shown: { state: status.state, cause: status.state_cause, aliveAtMs: status.alive_at },
        isHeld,
      }),
      deliveries_behind: behind?.deliveries ?? null,
      behind_since: behind?.sinceMs ?? null,
    };
  } finally {
    db.close();
  }
}

/** @returns the fallback if a file is absent, or if this user may not open it. */
function ifReadable<T, F>(read: () => T, fallback: F): T | F {
  try {
    return read();
  } catch (error) {
    if (error instanceof StoreError) return fallback;
    throw error;
  }
}

const PAINT = { live: colours.green, catching_up: colours.yellow, stale: colours.red } as const;

interface Place {
  readonly path: string;
  /** Why the process that holds the file did not report its state. */
  readonly hidden: string | null;
}

function describe(status: Status, { path, hidden }: Place): string {
  const { state, causes } = status;
  const rows: [string, string][] = [['state', PAINT[state](state)]];
  for (const { code, severity, since, owner, message, remedy } of causes) {
    const paint = severity === 'critical' ? colours.red : colours.yellow;
    const age = since === null ? '' : `${ago(since)}, `;
    rows.push([paint(severity), `${code} (${age}owner: ${owner}): ${message}`], ['what to do', remedy]);
  }
  if (hidden !== null) rows.push(['mirror', hidden]);
  rows.push(['database', path]);
  const counted = countsSchema.safeParse(status);
  if (!counted.success) return table(rows);
  const counts = counted.data;
  rows.push(
    ['mirrored', `${counts.products} products, ${counts.variants} variants, ${counts.levels} stock levels`],
    ['suspect levels', String(counts.suspect_count)],
    ['pending reads', String(counts.pending_reads)],
    ['open gaps', String(counts.open_gaps)],
    ['last delivery', ago(counts.last_delivery_at)],
    ['last full read', ago(counts.last_full_sync_at)],
    ['oldest read', ago(counts.oldest_verified_at)],
    ['change feed', `last change ${counts.last_seq}, epoch ${counts.epoch}`],
  );
  const behind = counts.deliveries_behind ?? 0;
  if (behind > 0) {
    rows.push(['inbox', `${behind} deliveries not applied yet, the oldest from ${ago(counts.behind_since)}`]);
  }
  if (counts.dead_letters > 0) rows.push(['dead letters', `${counts.dead_letters} deliveries or items`]);
  if (counts.last_read_error !== null) rows.push(['failed read', counts.last_read_error]);
  return table(rows);
}

function table(rows: readonly (readonly [name: string, value: string])[]): string {
  const lengthOf = (name: string): number => stripVTControlCharacters(name).length;
  const width = Math.max(...rows.map(([name]) => lengthOf(name)));
  return rows.map(([name, value]) => `${name}${' '.repeat(width - lengthOf(name))}  ${value}\n`).join('');
}
