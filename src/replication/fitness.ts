/**
 * Whether a replica has everything, whether it may lead, and what it must wait for when the engine has lost entries that
 * some replicas have (docs/beyond-one-machine.md#when-the-engine-has-lost-everything).
 */
import type { Members, ReplicaNote } from './presence.ts';
import type { Replicator } from './replicator.ts';
import type { Need, Standing } from './transport.ts';

interface FitnessDeps {
  /** Of this replica. */
  readonly name: string;
  /** The version of the rules here. */
  readonly rules: number;
  /** Others, as last heard of. */
  readonly members: () => Members;
  /** Since when they are heard of without a break, on the monotonic clock; null: they are not. */
  readonly hearsSinceMs: () => number | null;
  readonly following: () => Pick<Replicator['state'], 'upToDateAtMs' | 'need'>;
  readonly standing: () => Pick<Standing, 'epoch' | 'lastSeq'>;
}

/** Up to date means: everything was here within this time, some batches or three signs of life. */
const UP_TO_DATE_WITHIN_MS = 3_000;
/** By then the announcements of the others have arrived. */
const HEARD_AFTER_MS = 6_000;
/** Servers that were all restarted take some seconds to know what they have. */
const LOST_AFTER_MS = 5_000;
/** By then every replica that has the lost entries has said so. */
const FOLLOWS_AFTER_MS = 15_000;
/** A snapshot that is not there by then will not come: the lead that would have made it is gone. */
const STRANDED_AFTER_MS = 60_000;

export class Fitness {
  readonly #deps: FitnessDeps;

  constructor(deps: FitnessDeps) {
    this.#deps = deps;
  }

  /** It had everything a moment ago. */
  get isUpToDate(): boolean {
    return this.#lasts(this.#deps.following().upToDateAtMs) < UP_TO_DATE_WITHIN_MS;
  }

  /** It has entries that the engine has lost, for long enough to be sure. */
  get isLost(): boolean {
    return this.#needs('history', LOST_AFTER_MS);
  }

  /** Another eligible replica has entries the engine lost. It must lead; this one would reuse its numbers. */
  get isPassed(): boolean {
    return this.#others.some((at) => at.isLost && at.mayLead && this.#isOfSameEpoch(at));
  }

  /** The history does not continue from here. The old rows stay visible until a snapshot arrives. */
  get needsSnapshot(): boolean {
    return this.#needs('snapshot', 0) || this.#isLeftBehind;
  }

  /** A replica that has everything may lead. If none can continue, the one with most entries does. */
  get isFit(): boolean {
    if (this.#deps.following().need === null) return this.isUpToDate && !this.isPassed;
    const hearsSinceMs = this.#deps.hearsSinceMs();
    const hasHeard = hearsSinceMs !== null && this.#lasts(hearsSinceMs) >= HEARD_AFTER_MS;
    const isLost = this.#needs('history', HEARD_AFTER_MS) && hasHeard;
    const isUpdated = this.#needs('other_updates', HEARD_AFTER_MS) && hasHeard && this.#areAllUpdated;
    if (!isLost && !isUpdated && !this.#needs('snapshot', STRANDED_AFTER_MS)) return false;
    const { name, members } = this.#deps;
    return [...members().replicas].every(
      ([other, at]) =>
        other === name || !at.mayLead || (isLost && this.#followsWhatIsLeft(at)) || this.#hasLess(other, at),
    );
  }

  /** Those that may not lead too: their rows would no longer be what their entries make. */
  get #areAllUpdated(): boolean {
    return this.#others.every(({ rules }) => rules >= this.#deps.rules);
  }

  /** It follows what is left in the engine, perhaps to a higher number, and waits for this replica to lead. */
  #followsWhatIsLeft(at: ReplicaNote): boolean {
    const follows = at.isUpToDate || (!at.isLost && this.#needs('history', FOLLOWS_AFTER_MS));
    return follows && this.#isOfSameEpoch(at);
  }

  #hasLess(other: string, at: ReplicaNote): boolean {
    const { lastSeq } = this.#deps.standing();
    if (at.isUpToDate) return false;
    return at.lastSeq < lastSeq || (at.lastSeq === lastSeq && this.#deps.name < other);
  }

  /** The others continue without the entries that only this replica has. */
  get #isLeftBehind(): boolean {
    return this.isLost && this.#others.some((at) => at.isLeading && !this.#isOfSameEpoch(at));
  }

  get #others(): ReplicaNote[] {
    const { name, members } = this.#deps;
    return [...members().replicas].flatMap(([other, at]) => (other === name ? [] : [at]));
  }

  #isOfSameEpoch({ epoch }: ReplicaNote): boolean {
    return epoch === this.#deps.standing().epoch;
  }

  /** At least for this long. */
  #needs(kind: Need, ms: number): boolean {
    const { need } = this.#deps.following();
    return need?.kind === kind && this.#lasts(need.atMs) >= ms;
  }

  #lasts(sinceMs: number | null): number {
    return sinceMs === null ? Number.POSITIVE_INFINITY : performance.now() - sinceMs;
  }
}
