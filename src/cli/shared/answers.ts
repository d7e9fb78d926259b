/**
 * What `--json` prints, by command. The schemas in docs/schemas are made of these (`npm run schemas`), and the commands
 * have their types from here. Loaded by neither: a command imports the types alone.
 */
import { z } from '@hono/zod-openapi';
import { runSchema } from '../../ops/api/runs.ts';
import { statusSchema } from '../../ops/api/status.ts';
import { MIRROR_STATES } from '../../mirror/file/state.ts';
import { AGAINST_LEVEL, AGAINST_TOTAL } from '../../mirror/file/suspicion.ts';
import {
  changeSchema,
  epochSchema,
  instant,
  lastSeqSchema,
  stockRowSchema,
  variantRowSchema,
} from '../../ops/api/rows.ts';

const namesOf = <Name extends string>(of: Readonly<Record<Name, unknown>>) => Object.keys(of) as Name[];

const state = z.enum(MIRROR_STATES).meta({ description: 'The state of the mirror as a whole.' });

const stockAnswer = z.object({
  sku: z.string(),
  state,
  epoch: epochSchema,
  last_seq: lastSeqSchema,
  variants: z
    .array(
      variantRowSchema.extend({
        suspect_because: z
          .array(z.enum(namesOf(AGAINST_TOTAL)))
          .meta({ description: 'What speaks against the total; empty unless it is suspect.' }),
      }),
    )
    .meta({ description: 'Rows of mirror_variants: the totals. Several variants may share a SKU.' }),
  levels: z
    .array(
      stockRowSchema.extend({
        suspect_because: z
          .array(z.enum(namesOf(AGAINST_LEVEL)))
          .meta({ description: 'What speaks against the figure; empty unless it is suspect.' }),
      }),
    )
    .meta({ description: 'Rows of mirror_stock: one for each warehouse.' }),
});
export type StockAnswer = z.input<typeof stockAnswer>;

const count = z.int().nonnegative();

/** From a running mirror all of it; from the file what the file holds. */
const statusAnswer = statusSchema
  .partial({ reads_under_way: true, schedule: true, blocked: true, alarms: true })
  .extend({
    entries_behind: count
      .nullable()
      .meta({ description: 'Entries of the event log that the tables do not hold yet; null: unknown.' }),
    serving: z
      .boolean()
      .meta({ description: 'Whether a running mirror answered; false: it is what the file says.' }),
  });

const runAnswer = runSchema;
const acceptedAnswer = z.object({
  run_id: count,
  joined: z
    .boolean()
    .optional()
    .meta({ description: 'True: a run was under way already, and this is that one.' }),
});

const figure = z.object({
  what: z.enum(['level', 'total', 'product']),
  product_id: z.string(),
  variant_id: z.string().nullable(),
  warehouse_id: z.string().nullable(),
  sku: z.string().nullable(),
  mirror: z.number().nullable().meta({ description: 'What the mirror holds; null: no row.' }),
  service: z.number().nullable().meta({ description: 'What the store says; null: it has none.' }),
  only_in: z
    .enum(['mirror', 'service'])
    .nullable()
    .meta({ description: 'Where the other side has nothing.' }),
  suspect: z.boolean().nullable(),
  as_of: instant.nullable(),
  verified_at: instant.nullable(),
});

const verifyAnswer = z.object({
  equal: z.boolean(),
  products: count,
  totals: count,
  levels: count,
  took_ms: count,
  drift: z.array(figure).meta({ description: 'What differs.' }),
  undecided: z.array(figure).meta({ description: 'What moved at every look.' }),
  unread: z.array(z.object({ product_id: z.string(), error: z.string() })),
});
export type VerifyAnswer = z.input<typeof verifyAnswer>;

const localAnswer = z.object({
  consistent: z.boolean(),
  levels: count,
  changes: count,
  untold: count.meta({ description: 'Stock levels of which no change is kept any more.' }),
  damage: z.array(z.string()).readonly().meta({ description: 'What SQLite finds wrong with the file.' }),
  differs: z.array(
    z.object({
      what: z.enum(['level', 'chain']).meta({
        description: 'A level that is not where its last change led, or a change that begins elsewhere.',
      }),
      variant_id: z.string(),
      warehouse_id: z.string(),
      seq: count.nullable(),
      expected: z.number().nullable(),
      found: z.number().nullable(),
    }),
  ),
});
export type LocalAnswer = z.input<typeof localAnswer>;

const doctorAnswer = z.object({
  ok: z.boolean(),
  checks: z.array(
    z.object({
      name: z.string(),
      status: z.enum(['ok', 'warn', 'fail']),
      message: z.string(),
      remedy: z.string().nullable(),
    }),
  ),
  variables: z.array(
    z.object({
      name: z.string(),
      source: z.enum(['set', 'default', 'unset']),
      value: z
        .string()
        .nullable()
        .meta({ description: '`[secret]` for what must not be shown, `[wrong]` for what is refused.' }),
    }),
  ),
});
export type DoctorAnswer = z.input<typeof doctorAnswer>;

const file = z.object({ path: z.string(), bytes: count });

const backupAnswer = file.extend({
  event_log: file.nullable().meta({ description: 'The copy of the event log; null: there was none.' }),
  epoch: z.string(),
  last_seq: count.meta({ description: 'Where the change feed of the copy ends.' }),
  took_ms: count,
});
export type BackupAnswer = z.input<typeof backupAnswer>;

const pruneAnswer = z.object({
  days: z.int().positive().meta({ description: 'What is older was deleted.' }),
  log: count,
  changes: count,
  quarantine: count.meta({ description: 'Dead letters.' }),
  runs: count,
  complete: z.boolean().meta({ description: 'False: it was stopped before the end.' }),
});
export type PruneAnswer = z.input<typeof pruneAnswer>;

const rebuildAnswer = z.object({
  entries: count,
  differing: z
    .array(z.string())
    .readonly()
    .nullable()
    .meta({ description: 'Tables that are not what the event log says; null: nothing was compared.' }),
  unreadable: z.string().nullable().meta({ description: 'Why nothing was compared.' }),
  new_epoch: z.boolean(),
  rules: z.array(z.object({ version: count, from_seq: count })).meta({
    description: 'From which entry on each version of the rules had applied them.',
  }),
});
export type RebuildAnswer = z.input<typeof rebuildAnswer>;

const promoteAnswer = z.object({
  origin: z.string().meta({ description: 'What it was a copy of.' }),
  log_seq: count.meta({ description: 'The last entry of the event log that it had from there.' }),
  epoch: epochSchema,
  epoch_before: z.string(),
  last_seq: lastSeqSchema,
});
export type PromoteAnswer = z.input<typeof promoteAnswer>;

const sendAnswer = z.object({
  url: z.string(),
  bytes: count,
  status: z.int().meta({ description: 'Of the HTTP answer.' }),
  took_ms: z.number(),
  acknowledged: z
    .boolean()
    .meta({ description: 'A 2xx within a second, which is as long as the store waits.' }),
  answer: z.string(),
});
export type SendAnswer = z.input<typeof sendAnswer>;

/** By the name of the schema's file, in the order of the commands. */
export const ANSWERS = {
  resync: { printedBy: 'resync --json', schema: runAnswer },
  'resync-detached': { printedBy: 'resync --detach --json', schema: acceptedAnswer },
  verify: { printedBy: 'verify --json', schema: verifyAnswer },
  'verify-local': { printedBy: 'verify --local --json', schema: localAnswer },
  status: { printedBy: 'status --json', schema: statusAnswer },
  stock: { printedBy: 'stock --json', schema: stockAnswer },
  change: { printedBy: 'changes --json, export --changes --format json: each line', schema: changeSchema },
  'stock-row': { printedBy: 'export --format json: each line', schema: stockRowSchema },
  doctor: { printedBy: 'doctor --json', schema: doctorAnswer },
  backup: { printedBy: 'backup --json', schema: backupAnswer },
  prune: { printedBy: 'prune --json', schema: pruneAnswer },
  rebuild: { printedBy: 'rebuild --json', schema: rebuildAnswer },
  promote: { printedBy: 'promote --json', schema: promoteAnswer },
  send: { printedBy: 'send --json', schema: sendAnswer },
} as const;
