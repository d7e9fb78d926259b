import type { Differences, Run } from '../../core/runs.ts';
import type { RowIn } from './statements.ts';

export type RunRow = RowIn<'runs'>;

export function runOf(row: RunRow): Run {
  const { productIdsJson, listDone, differencesJson, ...rest } = row;
  return {
    ...rest,
    listDone: listDone === 1,
    differences: differencesOf(differencesJson),
    productIds: productIdsJson === null ? null : (JSON.parse(productIdsJson) as string[]),
  };
}

export function differencesOf(json: string): Differences {
  return JSON.parse(json) as Differences;
}
