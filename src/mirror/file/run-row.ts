import type { Run, RunKind, RunState } from '../../core/runs.ts';
import type { runs } from './schema.ts';

export type RunRow = typeof runs.$inferSelect;

export function runOf(row: RunRow): Run {
  const { productIdsJson, listDone, kind, state, ...rest } = row;
  return {
    ...rest,
    kind: kind as RunKind,
    state: state as RunState,
    listDone: listDone === 1,
    productIds: productIdsJson === null ? null : (JSON.parse(productIdsJson) as string[]),
  };
}
