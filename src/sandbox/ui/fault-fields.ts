import type { z } from 'zod';
import type { faultsSchema } from '../control/faults.ts';
import { isChecked, number, whole } from './form.ts';

export interface FaultField {
  /** The figure's path in the body of `POST /sandbox/faults`. */
  readonly path: string;
  readonly label: string;
  readonly kind: 'probability' | 'ms' | 'seconds' | 'switch';
}

const field = (path: string, label: string, kind: FaultField['kind']): FaultField => ({ path, label, kind });

export const faultGroups: readonly { readonly title: string; readonly fields: readonly FaultField[] }[] = [
  {
    title: 'Webhooks',
    fields: [
      field('loss', 'lost', 'probability'),
      field('duplicate', 'sent twice', 'probability'),
      field('reorder', 'overtaken by later ones', 'probability'),
      field('delay_ms.min', 'shortest delay', 'ms'),
      field('delay_ms.max', 'longest delay', 'ms'),
      field('tail.probability', 'long delay', 'probability'),
      field('tail.max_ms', 'long delay, at most', 'ms'),
      field('batch_ms', 'collect changes for', 'ms'),
    ],
  },
  {
    title: 'Requests to /v1, orders included',
    fields: [
      field('fail.server_error', 'answered 500', 'probability'),
      field('fail.slow_down', 'answered 429', 'probability'),
      field('fail.retry_after_s', 'Retry-After of a 429', 'seconds'),
      field('fail.invalid_token', 'answered 401', 'probability'),
      field('fail.reset', 'not done, connection cut', 'probability'),
      field('fail.lost_answer', 'done, then connection cut', 'probability'),
      field('latency_ms.min', 'shortest latency', 'ms'),
      field('latency_ms.max', 'longest latency', 'ms'),
      field('slow.probability', 'slow answers', 'probability'),
      field('slow.ms', 'slow by', 'ms'),
      field('stale.probability', 'stale product details', 'probability'),
      field('stale.age_ms', 'stale by', 'ms'),
    ],
  },
  {
    title: 'Store and clock',
    fields: [
      field('access_denied', 'orders and addresses answer 403 access_denied', 'switch'),
      field('quota_exceeded', 'new orders answer 403 quota_exceeded', 'switch'),
      field('clock_offset_ms', 'store’s clock is ahead by', 'ms'),
      field('node_skew_ms', 'clocks of its nodes differ by up to', 'ms'),
    ],
  },
];

/** The figure at a path of the current faults. */
export function faultAt(faults: z.output<typeof faultsSchema>, path: string): number | boolean {
  let value: unknown = faults;
  for (const key of path.split('.')) value = (value as Record<string, unknown>)[key];
  return value as number | boolean;
}

/** The form as a body of `POST /sandbox/faults`. Throws ApiError 400. */
export function faultsOf(form: URLSearchParams): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  for (const { path, kind } of faultGroups.flatMap(({ fields }) => fields)) {
    const value =
      kind === 'switch'
        ? isChecked(form, path)
        : kind === 'probability'
          ? number(form, path)
          : whole(form, path);
    const [first = '', second] = path.split('.');
    if (second === undefined) body[first] = value;
    else body[first] = { ...(body[first] as object | undefined), [second]: value };
  }
  return body;
}
