/** The state and its causes in the form that the page shows. */
import type { CauseKind } from '../condition/cause.ts';
import { besides } from '../alarms/alarm.ts';
import { capital, isBlocking } from '../condition/cause.ts';
import type { Status } from '../../mirror/queries/status.ts';
import { currentCondition } from '../shared/current-condition.ts';
import type { OpsDeps } from '../shared/operator.ts';

export interface Cause {
  readonly code: string;
  readonly severity: 'critical' | 'warning';
  readonly since: number | null;
  readonly owner: 'store' | 'operator' | 'host' | 'network';
  readonly message: string;
  readonly remedy: string;
}

export interface MirrorState {
  readonly state: 'live' | 'catching_up' | 'stale';
  readonly causes: readonly Cause[];
}

type Source = Pick<OpsDeps, 'state' | 'operator' | 'alarms' | 'now'>;

export function stateOf(status: Status, { operator, alarms, now }: Source): MirrorState {
  const { name, causes } = currentCondition({ status, operator, alarms, nowMs: now() });
  const others = besides(alarms.current, causes as readonly { readonly kind: CauseKind }[]);
  return {
    state: name === 'blocked' ? 'stale' : name === 'catching_up' ? 'catching_up' : 'live',
    causes: [
      ...causes.map((each) => ({
        ...{ code: each.kind, owner: each.owner, since: each.since },
        severity: isBlocking(each) ? ('critical' as const) : ('warning' as const),
        message: `${each.cause}: ${each.figures}.`,
        remedy: `${capital(each.remedy)}.`,
      })),
      ...others.map(({ kind, since, message }) => ({
        ...{ code: kind, since, owner: 'operator' as const, severity: 'warning' as const },
        ...{ message, remedy: 'See the message.' },
      })),
    ],
  };
}
