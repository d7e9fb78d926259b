/**
 * Only the replica that holds the lease reads from the store (docs/beyond-one-machine.md#the-lead). It steps down well
 * before another one may take over. Should two lead for a moment, because one process was paused, no harm is done: both
 * append true reads.
 */
import type { Logger } from '../platform/log.ts';
import { inTime, orAborted } from '../platform/or-aborted.ts';
import { rest } from '../platform/sleep.ts';
import { LEASE_MS, TransportError, type Lease } from './transport.ts';

interface LeadDeps {
  readonly lease: Lease;
  /** Of this machine, for people. */
  readonly name: string;
  /** Whether this replica may lead now; asked about once a second. */
  readonly isFit: () => boolean;
  /** Called when it begins to lead. @param signal aborted when it steps down. */
  readonly lead: (signal: AbortSignal) => Promise<void>;
  readonly log: Logger;
}

const LOOK_EVERY_MS = 1_000;
/** Counted from the sending of the last renewal that succeeded. */
const STEP_DOWN_AFTER_MS = LEASE_MS * 0.7;
const RENEW_EVERY_MS = LEASE_MS / 5;
/** Part of the time in which a process must end. */
const RELEASE_WITHIN_MS = 500;

export class Lead {
  readonly #deps: LeadDeps;
  #leading: AbortController | null = null;

  constructor(deps: LeadDeps) {
    this.#deps = deps;
  }

  get isLeading(): boolean {
    return this.#leading?.signal.aborted === false;
  }

  /** Until aborted; then the lease is given back. */
  async run(signal: AbortSignal): Promise<void> {
    const { lease, name, isFit, log } = this.#deps;
    while (!signal.aborted) {
      try {
        const sentMs = performance.now();
        const revision = isFit() ? await lease.take(name) : null;
        if (revision !== null) await this.#leadWith(revision, sentMs, signal);
      } catch (error) {
        if (!(error instanceof TransportError)) throw error;
        log.debug({ err: error }, 'the lease cannot be taken');
      }
      await rest(LOOK_EVERY_MS, signal);
    }
  }

  async #leadWith(first: number, sentMs: number, signal: AbortSignal): Promise<void> {
    const { lease, name, lead, log } = this.#deps;
    const leading = (this.#leading = new AbortController());
    const until = AbortSignal.any([signal, leading.signal]);
    log.info({ name }, 'this replica leads: it reads from the store');
    let goodMs = sentMs;
    // On a timer of its own: a renewal may hang for longer.
    const watch = setInterval(() => {
      if (performance.now() - goodMs > STEP_DOWN_AFTER_MS) leading.abort();
    }, LOOK_EVERY_MS / 4).unref();
    const work = lead(until).catch((error: unknown) => {
      log.error({ err: error }, 'leading failed; another replica, or this one again, takes over');
      leading.abort();
    });
    const held = { revision: first };
    try {
      while (!until.aborted) {
        await rest(RENEW_EVERY_MS, until);
        if (until.aborted) break;
        const renewalMs = performance.now();
        const renewing = lease.renew(name, held.revision).catch(unknownNow);
        const next = await orAborted(renewing, until);
        if (next === undefined) continue;
        if (next === null) break;
        held.revision = next;
        goodMs = renewalMs;
      }
    } finally {
      clearInterval(watch);
      leading.abort();
      await work;
      this.#leading = null;
      log.info({ name }, 'this replica does not lead any more');
      // If it cannot be given back in time, it expires.
      await inTime(lease.release(held.revision).catch(unknownNow), RELEASE_WITHIN_MS);
    }
  }
}

/** The outcome is unknown. @throws Error of any other kind */
function unknownNow(error: unknown): undefined {
  if (!(error instanceof TransportError)) throw error;
  return undefined;
}
