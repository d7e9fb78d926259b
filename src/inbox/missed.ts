/** Rows of the inbox that say what may have been missed (docs/architecture.md#what-may-have-been-missed). */
import { MISSED_WHYS, type Missed } from '../core/input.ts';

/** The row's body, and the message of the stream: JSON with `why`, `since`, `until` and `variant_ids`. */
export function missedBody({ why, sinceMs, untilMs, variantIds }: Missed): Buffer {
  return Buffer.from(JSON.stringify({ why, since: sinceMs, until: untilMs, variant_ids: variantIds }));
}

/**
 * A body that this version does not understand counts as the one that asks for most, a `stream_gap`:
 * everything is read.
 * @param atMs `untilMs` then.
 */
export function readMissed(body: Uint8Array, atMs: number): Missed {
  const fields = parsed(body);
  const why = MISSED_WHYS.find((each) => each === fields['why']);
  if (why === undefined) return { why: 'stream_gap', sinceMs: null, untilMs: atMs, variantIds: null };
  const { since, until, variant_ids: ids } = fields;
  return {
    why,
    sinceMs: typeof since === 'number' ? since : null,
    untilMs: typeof until === 'number' ? until : atMs,
    variantIds: Array.isArray(ids) && ids.every((id) => typeof id === 'string') ? ids : null,
  };
}

function parsed(body: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    const json: unknown = JSON.parse(Buffer.from(body).toString());
    return typeof json === 'object' && json !== null ? (json as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
