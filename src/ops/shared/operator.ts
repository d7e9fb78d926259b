import type { Registry } from 'prom-client';
import type { CommandOf } from '../../platform/own-command.ts';
import type { Logger } from '../../platform/log.ts';
import type { RemovalDecision } from '../../core/input.ts';
import type { Run } from '../../core/runs.ts';
import type { VerificationBound } from '../../core/verification-bound.ts';
import type { MirrorReader, MirrorWriter } from '../../mirror/mirror.ts';
import type { StateSampler } from '../state/state-sampler.ts';
import type { StateWatch } from '../state/state-watch.ts';
import type { Blocked } from '../../store-api/blocked.ts';
import type { Timeline } from '../state/timeline.ts';
import type { WarehouseNames } from './words.ts';

export interface Operator {
  /** @param decision with it, what the store no longer shows of the products is removed. */
  resync(
    productIds: readonly string[] | null,
    decision: RemovalDecision | null,
  ): Promise<Run & { readonly joined: boolean }>;
  readonly blocked: Blocked | null;
  /** null if nothing is verified by schedule. */
  readonly verificationBound: VerificationBound | null;
  readonly readsUnderWay: number;
}

interface DatabaseIdentity {
  readonly path: string;
  readonly lockId: string | null;
}

export interface OpsDeps {
  readonly reader: MirrorReader;
  readonly writer: Pick<MirrorWriter, 'command' | 'onApplied' | 'position'>;
  readonly operator: Operator;
  readonly token: string | null;
  readonly readToken: string | null;
  readonly metrics: Pick<Registry, 'contentType' | 'metrics'>;
  readonly state: Pick<StateSampler, 'last' | 'status'>;
  readonly watch: Pick<StateWatch, 'shown' | 'shownIn'>;
  readonly timeline: Pick<Timeline, 'minutes'>;
  /** The mirror's file, and what identifies it under any path. */
  readonly database: DatabaseIdentity;
  /** Warehouses that the settings name; the page cannot rename them. */
  readonly namedBySettings: WarehouseNames;
  /** How an operator types a command of a remedy. */
  readonly commandOf: CommandOf;
  readonly now: () => number;
  readonly log: Logger;
  /** Aborted when the mirror stops, which ends streams. */
  readonly stopping: AbortSignal;
}
