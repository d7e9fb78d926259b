import type { Logger } from '../../log.ts';
import type { StoreReader } from '../../store/store.ts';
import type { AlarmSource } from '../alarms/alarm.ts';
import type { Operator } from '../operator.ts';
import type { RejectedSamples } from '../rejected.ts';
import type { StateSource } from '../state-sampler.ts';
import type { Timeline } from '../timeline.ts';

/** What the page shows and steers: the same parts that the API has. */
export interface PageDeps {
  readonly reader: StoreReader;
  readonly operator: Operator;
  readonly state: StateSource;
  readonly alarms: AlarmSource;
  readonly rejected: RejectedSamples;
  readonly timeline: Timeline;
  /** Epoch ms. */
  readonly now: () => number;
  readonly log: Logger;
}
