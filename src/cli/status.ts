import { stripVTControlCharacters } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { z } from 'zod';
import { loadLocalConfig, type LocalConfig } from '../config/config.ts';
import { inboxPath, openInboxReader, readReceiver } from '../inbox/inbox-file.ts';
import { lag, status as readStatus } from '../mirror/queries/status.ts';
import { attachInbox } from '../mirror/reader/open-for-queries.ts';
import { countsShape } from '../ops/shared/shapes.ts';
import { fullReadWords, sellableWords } from '../ops/shared/words.ts';
import { OWNER_WORDS } from '../ops/state/causes.ts';
import { judge, receiverCause, verdictOf } from '../ops/state/state.ts';
import { ago, counted } from '../platform/amounts.ts';
import { commandsOf, withOwnCommands } from '../platform/own-command.ts';
import { messageOf } from '../platform/thrown.ts';
import { visibleIn } from '../platform/visible.ts';
import { SqliteFault } from '../sqlite/errors.ts';
import { isThere } from '../sqlite/is-there.ts';
import { isDatabaseLocked } from '../sqlite/lock.ts';
import { colours } from './shared/colours.ts';
import { EXIT } from './shared/exit-codes.ts';
import { explained } from './shared/explained.ts';
import { openMirrorFile } from './shared/mirror-file.ts';
import { decimal } from './shared/flags.ts';
import { interruptible } from './shared/interrupt.ts';
import { statusOfOwn, type stateSchema } from './shared/ops-client.ts';

type Status = z.infer<typeof stateSchema>;

/** Without the process, the inbox may be unreadable. */
const countsSchema = z.object(countsShape).extend({ deliveries_behind: z.int().nullable() });

export function createCommand(): Command {
  const command = new Command('status')
    .option('--json', 'print it as JSON')
    .option('--wait', 'wait until the state is live')
    .option('--timeout <seconds>', 'maximum time to wait', decimal(0, 1e6))
    .action(async (options: StatusOptions, command: Command) => {
      if (options.timeout !== undefined && options.wait !== true) {
        command.error('error: --timeout needs --wait');
      }
      const config = loadLocalConfig();
      const answer = options.wait === true ? await waitUntilLive(config, options) : await look(config);
      if (answer === null) {
        process.exitCode = EXIT.interrupted;
        return;
      }
      const { status, served } = answer;
      process.stdout.write(
        options.json === true
          ? `${JSON.stringify({ ...status, serving: served })}\n`
          : describe(visibleIn(status), config, answer),
      );
      process.exitCode = status.state === 'live' ? EXIT.done : EXIT.failed;
    });
  return explained(command, {
    notes: `
It needs no settings of the store. Exit code 0: a mirror runs, and its state is live: every product that can be read was read
since the last time in which webhooks may have been missed. With ROLE=receiver it shows the receiver's state.`,
    examples: [
      { what: 'the state of the mirror', run: 'stock-mirror status' },
      {
        what: 'wait up to 10 minutes until the mirror is live',
        run: 'stock-mirror status --wait --timeout 600',
      },
      {
        what: 'state, causes and how much can be sold, as JSON',
        run: "stock-mirror status --json | jq '{state, causes: [.causes[].code], sellable}'",
      },
    ],
  });
}

interface StatusOptions {
  readonly json?: boolean;
  readonly wait?: boolean;
  /** In seconds. */
  readonly timeout?: number;
}

interface Answer {
  readonly status: Status;
  /** The process itself answered. */
  readonly served: boolean;
  /** Why the process that holds the file did not report its state. */
  readonly hidden: string | null;
}

/** The process knows more than the file if it cannot write it. @throws SqliteFault; Error if there is no file. */
async function look(config: LocalConfig): Promise<Answer> {
  const status = await askServer(config);
  if (status !== null && typeof status !== 'string') return { status, served: true, hidden: null };
  const read = config.role === 'receiver' ? readInbox : readFile;
  try {
    return { status: read(config.database.path), served: false, hidden: status };
  } catch (error) {
    throw status === null ? error : new Error(status, { cause: error });
  }
}

const LOOK_EVERY_MS = 500;

/**
 * @returns null when interrupted. While the mirror does not answer or its file is missing, it may still be
 * starting.
 */
async function waitUntilLive(config: LocalConfig, { timeout }: StatusOptions): Promise<Answer | null> {
  const interrupted = interruptible();
  const untilMs = performance.now() + (timeout ?? Number.POSITIVE_INFINITY) * 1_000;
  for (;;) {
    const isLast = performance.now() >= untilMs;
    try {
      const answer = await look(config);
      if (isLast || answer.status.state === 'live') return answer;
    } catch (error) {
      if (isLast) throw error;
    }
    await sleep(LOOK_EVERY_MS, undefined, { signal: interrupted }).catch(() => undefined);
    if (interrupted.aborted) return null;
  }
}

/** @returns the reason if another program answers, or the process does not; null if there is none. */
async function askServer(config: LocalConfig): Promise<Status | string | null> {
  const { ops, database, role } = config;
  const [what, file] =
    role === 'receiver' ? ['inbox', inboxPath(database.path)] : ['database', database.path];
  try {
    const status = await statusOfOwn(config);
    if (status !== null || !ifReadable(() => isDatabaseLocked(file), false)) return status;
    return (
      `a process holds the ${what} but does not answer at ${ops.host}:${ops.port}: ` +
      'check OPS_HOST and OPS_PORT'
    );
  } catch (error) {
    return messageOf(error);
  }
}

function readFile(path: string): Status {
  if (!isThere(path)) {
    if (ifReadable(() => isDatabaseLocked(inboxPath(path)), false)) {
      throw new Error(
        `no mirror runs, and ${path} does not exist, but a receiver holds ${inboxPath(path)}: ` +
          'if this host only receives, set ROLE=receiver to see its state',
      );
    }
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
      ...verdictOf(status.causes),
      deliveries_behind: behind?.deliveries ?? null,
      behind_since: behind?.sinceMs ?? null,
    };
  } finally {
    db.close();
  }
}

/** The state of a host that only receives. */
function readInbox(databasePath: string): Status {
  const path = inboxPath(databasePath);
  if (!isThere(path)) {
    throw new Error(
      `no receiver runs, and ${path} does not exist: run \`stock-mirror serve\`, or correct DATABASE_PATH`,
    );
  }
  const db = openInboxReader(databasePath);
  try {
    const cause = receiverCause({ ...readReceiver(db), nowMs: Date.now() });
    return { ...judge(cause === null ? [] : [cause]) };
  } finally {
    db.close();
  }
}

/** @returns the fallback if a file is absent, or if this user may not open it. */
function ifReadable<T, F>(read: () => T, fallback: F): T | F {
  try {
    return read();
  } catch (error) {
    if (error instanceof SqliteFault) return fallback;
    throw error;
  }
}

const PAINT = { live: colours.green, catching_up: colours.yellow, stale: colours.red } as const;

function describe(status: Status, { database, role, command }: LocalConfig, { hidden }: Answer): string {
  const { state, causes } = status;
  const commandOf = commandsOf(command);
  const rows: [string, string][] = [['state', PAINT[state](state)]];
  for (const { code, severity, since, owner, message, remedy } of causes) {
    const paint = severity === 'critical' ? colours.red : colours.yellow;
    const age = since === null ? '' : `${ago(since)}, `;
    rows.push(
      [paint(severity), `${code} (${age}who can end it: ${OWNER_WORDS[owner]}): ${message}`],
      ['what to do', `${withOwnCommands(remedy, commandOf)} More: docs/causes.md#${code}`],
    );
  }
  if (hidden !== null) rows.push([role === 'receiver' ? 'receiver' : 'mirror', hidden]);
  if (role === 'receiver') {
    rows.push(
      ['role', 'this process only receives webhooks (ROLE=receiver): ask a mirror for the stock'],
      ['inbox', inboxPath(database.path)],
    );
  } else rows.push(['database', database.path]);
  const parsed = countsSchema.safeParse(status);
  if (!parsed.success) return table(rows);
  const counts = parsed.data;
  rows.unshift(['can be sold now', `${sellableWords(counts.sellable)} quantities`]);
  rows.push(
    ['mirrored', `${counts.products} products, ${counts.variants} variants, ${counts.levels} stock levels`],
    ['pending reads', String(counts.pending_reads)],
    ['open gaps', String(counts.open_gaps)],
    ['last webhook accepted from the store', ago(counts.last_accepted_at)],
    ['last delivery', ago(counts.last_delivery_at)],
    ['last full read', fullReadOf(counts)],
    ['oldest read', ago(counts.oldest_verified_at)],
    ['change feed', `last change ${counts.last_seq}, epoch ${counts.epoch}`],
  );
  if (counts.pending_removals > 0) {
    rows.push([
      'pending removals',
      `${counted(counts.pending_removals, 'product')}: further reads or a list must confirm that the store no longer has all of it`,
    ]);
  }
  if (counts.searched_variants > 0) {
    rows.push([
      'searched variants',
      `${counts.searched_variants}: webhooks have named them, and no product shows them`,
    ]);
  }
  const behind = counts.deliveries_behind ?? 0;
  if (behind > 0) {
    rows.push(['inbox', `${behind} deliveries not applied yet, the oldest from ${ago(counts.behind_since)}`]);
  }
  if (counts.dead_letters > 0) rows.push(['dead letters', `${counts.dead_letters} deliveries or items`]);
  if (counts.last_read_error !== null) rows.push(['failed read', counts.last_read_error]);
  return table(rows);
}

function fullReadOf({
  last_full_sync_at: atMs,
  last_full_read: proof,
}: z.infer<typeof countsSchema>): string {
  return proof === null ? ago(atMs) : `${ago(proof.finished_at)}: ${fullReadWords(proof)}`;
}

function table(rows: readonly (readonly [name: string, value: string])[]): string {
  const lengthOf = (name: string): number => stripVTControlCharacters(name).length;
  const width = Math.max(...rows.map(([name]) => lengthOf(name)));
  return rows.map(([name, value]) => `${name}${' '.repeat(width - lengthOf(name))}  ${value}\n`).join('');
}
