/**
 * What happens to one webhook request between its bytes and its answer (docs/http-api.md#public-listener).
 * Knows nothing of the HTTP framework: bytes and a header in, a status out.
 */
import { verifySignature } from '../store-api/signature.ts';
import type { StoreWriter } from '../mirror/writer/store-writer.ts';
import type { Deadlines } from './deadlines.ts';
import type { UnstoredDeliveries } from './unstored.ts';
import { asError } from '../platform/thrown.ts';

export interface AcceptDeps {
  readonly writer: Pick<StoreWriter, 'appendDelivery' | 'waitingBytes'>;
  readonly unstored: UnstoredDeliveries;
  readonly deadlines: Deadlines;
  /** Keys that a delivery may be signed with. */
  readonly secrets: readonly string[];
  readonly now: () => number;
}

/** The store waits a second for its answer; ours must be on its way before. */
export const COMMIT_DEADLINE_MS = 800;
/** With more than this waiting for its commit, deliveries are refused at once: memory stays bounded while the disk hangs. */
const MAX_WAITING_BYTES = 64 << 20;

/**
 * - `committed`: on disk, or found there already.
 * - `unsigned`: the signature is missing or wrong; nothing of the body was looked at.
 * - `not_stored`: not committed in time. If it is not committed later either, its products are read again.
 */
export type Verdict = 'committed' | 'unsigned' | 'not_stored';

/** @param deadlineMs how much of the deadline is left. */
export function acceptDelivery(
  deps: AcceptDeps,
  body: Uint8Array,
  signature: string | undefined,
  deadlineMs: number,
): Promise<Verdict> {
  if (!verifySignature(deps.secrets, body, signature)) return Promise.resolve('unsigned');
  if (deps.writer.waitingBytes > MAX_WAITING_BYTES) {
    deps.unstored.note(body, new Error('too many deliveries wait for their commit'));
    return Promise.resolve('not_stored');
  }
  return new Promise((resolve) => {
    const late = deps.deadlines.after(deadlineMs, () => resolve('not_stored'));
    deps.writer.appendDelivery(body, deps.now()).then(
      () => {
        late.cancel();
        resolve('committed');
      },
      (error: unknown) => {
        late.cancel();
        deps.unstored.note(body, asError(error));
        resolve('not_stored');
      },
    );
  });
}
