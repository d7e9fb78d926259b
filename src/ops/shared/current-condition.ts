/** The condition of the running mirror, from what its private listener has. */
import type { AlarmSource } from '../alarms/alarm.ts';
import { conditionOf, type Condition, type ConditionStatus } from '../condition/condition.ts';
import type { Blocked } from '../condition/store-trouble.ts';

interface Known {
  readonly status: ConditionStatus;
  readonly operator: { readonly blocked: Blocked | null };
  readonly alarms: Pick<AlarmSource, 'own' | 'maxRps'>;
  readonly nowMs: number;
}

export function currentCondition({ status, operator, alarms, nowMs }: Known): Condition {
  const { own, maxRps } = alarms;
  return conditionOf({ status, nowMs, serving: 'yes', blocked: operator.blocked, own, maxRps });
}
