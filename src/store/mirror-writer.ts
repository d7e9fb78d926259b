/** The way into the mirror: the event log, and what its projection does with it. */
import type { CommandArgs, CommandName, CommandResult } from './commands.ts';
import { StoreError } from './errors.ts';
import { encodeEntry, type NewEntry } from './event-log/entries.ts';
import type { Place } from './event-log/event-log.ts';
import type { LogClient } from './event-log/log-client.ts';
import type { BranchCounts } from './projection.ts';
import type { ProjectionClient } from './projection-client.ts';
import type { Pruned } from './pruned.ts';
import type { AppliedEntry, ApplyListener, StoreWriter } from './store.ts';

export class MirrorWriter implements StoreWriter {
  readonly #log: LogClient;
  readonly #projection: ProjectionClient;

  constructor(log: LogClient, projection: ProjectionClient) {
    this.#log = log;
    this.#projection = projection;
  }

  get lastSeq(): number {
    return this.#log.lastSeq;
  }

  get appliedSeq(): number {
    return this.#projection.appliedSeq;
  }

  get stuck(): StoreError | null {
    return this.#projection.stuck;
  }

  get waitingBytes(): number {
    return this.#log.waitingBytes;
  }

  onApplied(listener: ApplyListener): () => void {
    return this.#projection.onApplied(listener);
  }

  appendDelivery(body: Uint8Array, arrivedAtMs: number): Promise<Place> {
    return this.#log.appendDelivery(body, arrivedAtMs);
  }

  async append(entry: NewEntry, onStored: () => void = () => undefined): Promise<AppliedEntry> {
    const { seq } = await this.#log.appendEntry(encodeEntry(entry));
    onStored();
    const { facts, detailLost, failed } = await this.#projection.applied(seq);
    if (failed !== null) throw new StoreError('cannot_commit', `the rules failed on entry ${seq}: ${failed}`);
    if (!detailLost) return { seq, facts };
    // The tables were changed by somebody else: the detail that the event log has is not theirs any more.
    const whole = await this.#log.appendEntry({ ...encodeEntry(entry), detail: null });
    return { seq: whole.seq, facts: (await this.#projection.applied(whole.seq)).facts };
  }

  command<N extends CommandName>(name: N, args: CommandArgs<N>): Promise<CommandResult<N>> {
    return this.#projection.command(name, args, this.#log.lastSeq);
  }

  beat(atMs: number): Promise<void> {
    return this.#log.beat(atMs);
  }

  /** The entries first: the tables keep what came of those that are left. */
  async prune({ beforeMs, limit }: { beforeMs: number; limit: number }): Promise<Pruned> {
    const belowSeq = this.#projection.appliedSeq;
    const { deleted, firstSeq } = await this.#log.prune({ beforeMs, belowSeq, limit });
    const bounds = { firstLogSeq: firstSeq, lastLogSeq: this.#log.lastSeq };
    return { log: deleted, ...(await this.command('prune', { beforeMs, limit, ...bounds })) };
  }

  branchCounts(): Promise<BranchCounts> {
    return this.#projection.branchCounts();
  }
}
