/**
 * Decides the answer to one webhook request (docs/http-api.md#public-listener). Knows nothing of the HTTP framework:
 * bytes and a header in, a status out.
 */
import { verifySignature } from '../store-api/signature.ts';
import type { InboxClient } from '../inbox/inbox-client.ts';
import type { HeldBody } from './request-body.ts';
import type { UnstoredDeliveries } from './unstored.ts';
import { asError } from '../platform/thrown.ts';

export interface AcceptDeps {
  readonly inbox: Pick<InboxClient, 'append'>;
  readonly unstored: UnstoredDeliveries;
  /** Keys that a delivery may be signed with. */
  readonly secrets: readonly string[];
  readonly now: () => number;
}

/** The store waits a second for its answer; ours must be on its way before. */
export const COMMIT_DEADLINE_MS = 800;

/**
 * - `committed`: on disk, or found there already.
 * - `unsigned`: the signature is wrong; nothing of the body was looked at.
 * - `not_stored`: not committed in time. If it is not committed later either, its products are read again.
 */
export type Verdict = 'committed' | 'unsigned' | 'not_stored';

/** @param deadlineMs how much of the deadline is left. */
export async function acceptDelivery(
  deps: AcceptDeps,
  { bytes, release }: HeldBody,
  signature: string,
  deadlineMs: number,
): Promise<Verdict> {
  if (!verifySignature(deps.secrets, bytes, signature)) {
    release();
    return 'unsigned';
  }
  const late = Promise.withResolvers<Verdict>();
  const timer = setTimeout(() => late.resolve('not_stored'), deadlineMs);
  const stored = deps.inbox.append(bytes, deps.now()).then(
    (): Verdict => 'committed',
    (error: unknown): Verdict => {
      deps.unstored.note(bytes, asError(error));
      return 'not_stored';
    },
  );
  void stored.finally(release);
  return Promise.race([stored, late.promise]).finally(() => clearTimeout(timer));
}
