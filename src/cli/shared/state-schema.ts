/** The state as `GET /api/status` of the running mirror has it. */
import { z } from 'zod';
import { CAUSE_CODES, OWNERS, SEVERITIES } from '../../ops/state/causes.ts';
import { MIRROR_STATES } from '../../mirror/file/state.ts';

export const stateSchema = z.object({
  state: z.enum(MIRROR_STATES),
  causes: z.array(
    z.object({
      code: z.enum(CAUSE_CODES),
      severity: z.enum(SEVERITIES),
      since: z.number().nullable(),
      owner: z.enum(OWNERS),
      message: z.string(),
      remedy: z.string(),
    }),
  ),
});
