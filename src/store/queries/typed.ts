/** Questions that drizzle puts together. Loaded with the first of them: a mirror that nobody looks into is spared it. */
import { quarantinedItems } from './page-quarantine.ts';

export const typedQueries = { quarantinedItems };
