/** Causes as `GET /api/status` of the running mirror has them. */
import { z } from 'zod';
import { CAUSE_KINDS, OWNERS } from '../../ops/condition/cause.ts';

export const causeSchema = z.object({
  kind: z.enum(CAUSE_KINDS),
  owner: z.enum(OWNERS),
  cause: z.string(),
  figures: z.string(),
  remedy: z.string(),
  since: z.number().nullable(),
  until: z.number().nullable(),
});
