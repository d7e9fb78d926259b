import type { OpsDeps } from '../operator.ts';

/** What the page shows and controls: the same parts as the API. */
export type PageDeps = Pick<
  OpsDeps,
  'reader' | 'writer' | 'operator' | 'state' | 'alarms' | 'rejected' | 'timeline' | 'now' | 'log'
>;
