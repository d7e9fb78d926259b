/** Answers of the private listener that the API describes and the commands read. */
import { z } from 'zod';
import { RUN_KINDS, RUN_STATES } from '../../core/runs.ts';
import { CAUSE_CODES, OWNERS, SEVERITIES } from '../state/causes.ts';

const instant = z.int().meta({ description: 'Epoch milliseconds.' });

export const runShape = {
  run_id: z.int(),
  kind: z.enum(RUN_KINDS),
  state: z.enum(RUN_STATES),
  started_at: instant,
  finished_at: instant.nullable(),
  total: z
    .int()
    .meta({ description: 'Products in this run; grows while the catalogue list is still being read.' }),
  done: z.int(),
  drift: z.int().meta({ description: 'Differences that reads found and corrected while it ran.' }),
  removed: z.int().meta({ description: 'Quantities that reads removed while it ran.' }),
  allowed_by: z
    .string()
    .nullable()
    .meta({ description: 'Who allowed the removals that the mass-removal guard held; null: nobody did.' }),
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
  since: instant.nullable(),
  owner: z.enum(OWNERS).meta({
    description: 'Can end it; `host`: this machine, or a program on it; `mirror`: it ends with time.',
  }),
  message: z.string().meta({ description: 'The fault and its effect on the values.' }),
  remedy: z.string(),
};

export const errorShape = {
  error: z.string().meta({ description: 'A code for programs.' }),
  error_description: z.string().meta({ description: 'A sentence for people that names the field.' }),
};
