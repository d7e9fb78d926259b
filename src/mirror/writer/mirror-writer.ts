/** The way into the mirror: the event log, and what its projection does with it. */
import type { CommandArgs, CommandName, CommandResult } from './commands.ts';
import { StoreError } from '../../sqlite/errors.ts';
import { encodeEntry, type NewEntry } from '../../event-log/entries.ts';
import type { Place } from '../../event-log/event-log.ts';
import type { LogClient } from '../../event-log/log-client.ts';
import type { BranchCounts } from './projection.ts';
import type { ProjectionClient } from './projection-client.ts';
import { NOTHING_PRUNED, prunedIn, type Pruned } from './pruned.ts';
import type { AppliedEntry, ApplyListener, PruneArgs, StoreWriter } from './store-writer.ts';
import type { StoreReader } from '../reader/store-reader.ts';

export class MirrorWriter implements StoreWriter {
  readonly #log: LogClient;
  readonly #projection: ProjectionClient;
  readonly #reader: StoreReader;

  constructor(log: LogClient, projection: ProjectionClient, reader: StoreReader) {
    this.#log = log;
    this.#projection = projection;
    this.#reader = reader;
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
    // The mirror has begun again since the detail was logged.
    const whole = await this.#log.appendEntry({ ...encodeEntry(entry), detail: null });
    return { seq: whole.seq, facts: (await this.#projection.applied(whole.seq)).facts };
  }

  command<N extends CommandName>(name: N, args: CommandArgs<N>): Promise<CommandResult<N>> {
    return this.#projection.command(name, args, this.#log.lastSeq);
  }

  beat(atMs: number): Promise<void> {
    return this.#log.beat(atMs, this.#projection.changeSeq);
  }

  /** The entries first: the tables keep what came of those that are left. Where nothing goes, no entry says so. */
  async prune({ nowMs, beforeMs, limit }: PruneArgs): Promise<Pruned> {
    const belowSeq = this.#projection.appliedSeq;
    const { deleted, firstSeq } = await this.#log.prune({ beforeMs, belowSeq, limit });
    const bounds = { beforeMs, firstSeq };
    if (!(await this.#reader.ask('isPrunable', bounds))) return { ...NOTHING_PRUNED, log: deleted };
    const { facts } = await this.append({ kind: 'pruned', atMs: nowMs, ...bounds, limit });
    return { log: deleted, ...prunedIn(facts) };
  }

  branchCounts(): Promise<BranchCounts> {
    return this.#projection.branchCounts();
  }
}
