/**
 * Accounts for receivers that have vanished without a word: killed, cut off, or with their disk. What they have answered and
 * not published is in no mirror, so one of the other receivers publishes a `missed` row, and then that they are gone.
 */
import { setTimeout as wait } from 'node:timers/promises';
import type { Missed } from '../core/input.ts';
import type { Engine } from './engine.ts';
import { goneBody, readHeartbeat } from './heartbeat.ts';
import { SILENT_MS, type Hosts } from './hosts.ts';
import type { OwnHost } from './own-host.ts';

interface VanishedDeps {
  readonly host: Pick<OwnHost, 'hostId'>;
  readonly engine: Promise<Engine>;
  readonly hosts: Pick<Hosts, 'present' | 'silentFor' | 'left'>;
  readonly publisher: { readonly streamSeq: number };
  /** This host is a receiver whose heartbeats are published. */
  readonly isVouching: () => boolean;
  readonly publishMissed: (missed: Missed, signal: AbortSignal) => Promise<void>;
  readonly onError: (error: unknown) => void;
}

const EVERY_MS = 1_000;

export class Vanished {
  readonly #deps: VanishedDeps;

  constructor(deps: VanishedDeps) {
    this.#deps = deps;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { onError } = this.#deps;
    const engine = await this.#deps.engine;
    while (!signal.aborted) {
      await this.#account(engine, signal).catch((error: unknown) => {
        if (!signal.aborted) onError(error);
      });
      await wait(EVERY_MS, undefined, { ref: false, signal }).catch(() => undefined);
    }
  }

  async #account(engine: Engine, signal: AbortSignal): Promise<void> {
    const { host, hosts, publisher, publishMissed } = this.#deps;
    const vanished: string[] = [];
    for (const hostId of hosts.silentFor(SILENT_MS)) {
      const leftAtSeq = await leftAt(engine, hostId);
      if (leftAtSeq !== null) hosts.left(hostId, leftAtSeq);
      else if (hostId !== host.hostId && this.#isOurTurn(hostId)) vanished.push(hostId);
    }
    if (vanished.length === 0) return;
    const untilMs = Date.now();
    const sinceMs = untilMs - SILENT_MS;
    await publishMissed({ why: 'stream_gap', sinceMs, untilMs, variantIds: null }, signal);
    // One that was heard meanwhile has not gone: it may receive something, and vanish again.
    const gone = vanished.filter((hostId) => hosts.silentFor(SILENT_MS).includes(hostId));
    for (const hostId of gone) await engine.publish(`heartbeat.${hostId}`, goneBody(publisher.streamSeq));
  }

  /** The receivers take turns, so that one row is enough. */
  #isOurTurn(hostId: string): boolean {
    const { host, hosts, isVouching } = this.#deps;
    const turn = Math.max(0, hosts.present.toSorted().indexOf(host.hostId));
    return isVouching() && hosts.silentFor(SILENT_MS + turn * EVERY_MS).includes(hostId);
  }
}

/**
 * @returns null unless the stream says that the host has left: it may have answered deliveries that are not in the stream.
 * Otherwise up to where it has everything.
 */
async function leftAt(engine: Engine, hostId: string): Promise<number | null> {
  const [last] = await engine.last(`heartbeat.${hostId}`);
  if (last === undefined) return null;
  const { is_gone: isGone, stream_seq: streamSeq } = readHeartbeat(last.body);
  return isGone ? streamSeq : null;
}
