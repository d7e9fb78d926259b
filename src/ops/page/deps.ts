import type { OpsDeps } from '../operator.ts';

/** What the page shows and steers: the same parts that the API has. */
export type PageDeps = Pick<
  OpsDeps,
  'reader' | 'operator' | 'state' | 'alarms' | 'rejected' | 'timeline' | 'now' | 'log'
>;
