/** Answers of the private listener that the API describes and the commands read. */
import { z } from 'zod';
import { DRIFT_REASONS } from '../../core/drift-reasons.ts';
import { RUN_KINDS, RUN_STATES } from '../../core/runs.ts';
import { CAUSE_CODES, OWNERS, SEVERITIES } from '../state/causes.ts';

export const instant = z.int().meta({ description: 'Epoch milliseconds.' });
export const instantOrNull = instant.nullable();
export const epochSchema = z
  .string()
  .meta({ description: 'Identifies the mirror’s history: when it changes, start over.' });
export const lastSeqSchema = z.int().meta({ description: 'The last number issued.' });

const count = (description: string) => z.int().meta({ description });

const byReason = z
  .partialRecord(z.enum(DRIFT_REASONS), z.int())
  .meta({ description: 'The same by probable reason; a reason without any is left out.' });

export const runShape = {
  run_id: z.int(),
  kind: z.enum(RUN_KINDS),
  state: z.enum(RUN_STATES),
  started_at: instant,
  finished_at: instantOrNull,
  total: z
    .int()
    .meta({ description: 'Products in this run; grows while the catalogue list is still being read.' }),
  done: z.int(),
  compared: count('Values of the products that it read: totals of variants, and stock levels.'),
  drift: count('Differences that reads found and corrected while it ran.'),
  drift_by_reason: byReason,
  removed: z.int().meta({ description: 'Quantities that reads removed while it ran.' }),
  allowed_by: z.string().nullable().meta({
    description: 'Who allowed the removals that the mass-removal guard held; null: they were not allowed.',
  }),
  allowed_why: z.string().nullable(),
  failed: z.int().meta({ description: 'Products whose reads failed.' }),
  list_gap: z
    .string()
    .nullable()
    .meta({ description: 'Rows that the store could not list, which the run has left out.' }),
  error: z.string().nullable(),
};

const decisionText = (most: number) =>
  z.string().trim().min(1, 'must not be empty').max(most, `must have at most ${most} characters`);

export const decisionSchema = z.strictObject({
  by: decisionText(100).meta({ description: 'Who has decided it.' }),
  reason: decisionText(500).meta({ description: 'Why, for the log and the run.' }),
});

export const causeShape = {
  code: z.enum(CAUSE_CODES),
  severity: z.enum(SEVERITIES).meta({
    description: 'critical: no value is trusted. warning: the message says what it means for the values.',
  }),
  since: instantOrNull,
  owner: z.enum(OWNERS).meta({
    description: 'Can end it; `host`: this machine, or a program on it; `mirror`: it ends with time.',
  }),
  message: z.string().meta({ description: 'The fault and its effect on the values.' }),
  remedy: z.string(),
};

/** Missing while the mirror’s file cannot be read. */
export const countsShape = {
  epoch: epochSchema,
  schema_version: z.int(),
  state_cause: z
    .string()
    .nullable()
    .meta({ description: 'The code of the first cause of the state; null: the mirror is live.' }),
  last_delivery_at: instantOrNull,
  last_accepted_at: instantOrNull.meta({
    description: 'When a webhook of the store was last accepted, without those of `stock-mirror send`.',
  }),
  last_full_sync_at: instantOrNull,
  oldest_verified_at: instantOrNull,
  pending_reads: count('Products waiting to be read, without `pending_removals` and `held_removals`.'),
  sellable: z
    .object({
      total: count('All of them.'),
      trusted: z
        .int()
        .nullable()
        .meta({ description: 'Those with `trusted = 1`; null: more than 10000 are not.' }),
    })
    .meta({ description: 'Quantities that a program may sell: the rows of mirror_sellable.' }),
  last_full_read: z
    .object({
      run_id: z.int(),
      finished_at: z.int(),
      took_ms: z.int(),
      products: count('Products whose every value was compared with the store’s.'),
      compared: count('Values compared: totals of variants, and stock levels.'),
      differences: count(
        'Values that differed and were corrected, those of bundles after a component included.',
      ),
      by_reason: byReason,
      failed: count('Products that could not be read.'),
    })
    .nullable()
    .meta({ description: 'The last run that read every product; null: none yet, or it is pruned.' }),
  suspect_count: z
    .int()
    .nullable()
    .meta({
      description:
        'Rows of mirror_sellable with their own reason against trust, in any state; null: ' +
        'more than 10000.',
    }),
  open_gaps: count('Gaps that wait for a late delivery or a read.'),
  last_seq: lastSeqSchema,
  deliveries_behind: count('Deliveries in the inbox that are not applied yet.'),
  behind_since: instantOrNull.meta({ description: 'When the first of them arrived; null: there is none.' }),
  alive_at: instantOrNull,
  products: z.int(),
  variants: z.int(),
  levels: count('Stock rows: one for each stock level.'),
  parked_reads: count('Products whose reads the store refuses, or that failed repeatedly.'),
  failing_reads: count('Products whose last read failed, parked ones included.'),
  last_read_error: z.string().nullable(),
  held_removals: count('Products that the mass-removal guard keeps, whole or in part.'),
  pending_removals: count(
    'Products of which reads no longer show something: another read or a list of the catalogue must confirm it.',
  ),
  searched_variants: count(
    'Variants that webhooks have named and no product shows: the catalogue is searched.',
  ),
  dead_letters: count('Deliveries or items that were not understood.'),
};

export const errorShape = {
  error: z.string().meta({ description: 'A code for programs.' }),
  error_description: z.string().meta({ description: 'A sentence for people that names the field.' }),
};
