import { z } from '@hono/zod-openapi';
import { errorShape } from './shapes.ts';

export const errorSchema = z.object(errorShape).openapi('Error');

export type ErrorBody = z.infer<typeof errorSchema>;
