import type { Run } from '../../core/runs.ts';
import type { RowIn } from './statements.ts';

export type RunRow = RowIn<'runs'>;

export function runOf(row: RunRow): Run {
  const { productIdsJson, listDone, ...rest } = row;
  return {
    ...rest,
    listDone: listDone === 1,
    productIds: productIdsJson === null ? null : (JSON.parse(productIdsJson) as string[]),
  };
}
