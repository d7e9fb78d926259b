/**
 * How a replica stands among the others: whether it has everything, whether it may lead, and what it must wait for where the
 * engine has lost what some of them have (docs/beyond-one-machine.md#when-the-engine-has-lost-everything).
 */
import type { Members, ReplicaNote } from './presence.ts';
import type { Replicator } from './replicator.ts';
import type { Need, Standing } from './transport.ts';

interface FitnessDeps {
  /** Of this replica among the others. */
  readonly name: string;
  /** The version of the rules here. */
  readonly rules: number;
  /** Others, as last heard of. */
  readonly members: () => Members;
  /** Since when they are heard of without a break, on the monotonic clock; null: they are not. */
  readonly hearsSinceMs: () => number | null;
  readonly following: () => Pick<Replicator['state'], 'levelAtMs' | 'need'>;
  readonly standing: () => Pick<Standing, 'epoch' | 'lastSeq'>;
}

/** It had everything within this time: some batches, or one heartbeat and a half. */
const LEVEL_WITHIN_MS = 3_000;
/** What others tell of themselves has been heard by then. */
const HEARD_AFTER_MS = 6_000;
/** Servers that were all restarted know only after some seconds what they have. */
const LOST_AFTER_MS = 5_000;
/** Whoever has lost the same has said so by then. */
const FOLLOWS_AFTER_MS = 15_000;
/** A snapshot that is not there by then will not come: who would have put it is gone. */
const STRANDED_AFTER_MS = 60_000;

export class Fitness {
  readonly #deps: FitnessDeps;

  constructor(deps: FitnessDeps) {
    this.#deps = deps;
  }

  /** It had everything a moment ago. */
  get isLevel(): boolean {
    return this.#lasts(this.#deps.following().levelAtMs) < LEVEL_WITHIN_MS;
  }

  /** For a while it has had entries that the engine has lost. */
  get isLost(): boolean {
    return this.#needs('history', LOST_AFTER_MS);
  }

  /** Numbers that another one has given out would get a second meaning here: that one begins a new history. */
  get isPassed(): boolean {
    return this.#others.some((at) => at.isLost && at.mayLead && this.#isOfSameEpoch(at));
  }

  /** What it has does not lead on: it shows that until a snapshot is here. */
  get needsSnapshot(): boolean {
    return this.#needs('snapshot', 0) || this.#isLeftBehind;
  }

  /** Whoever has everything; where nobody can go on, whoever has most of those who may lead. */
  get isFit(): boolean {
    if (this.#deps.following().need === null) return this.isLevel && !this.isPassed;
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

  /** Also those that may not lead: what they show would not follow from their entries any more. */
  get #areAllUpdated(): boolean {
    return this.#others.every(({ rules }) => rules >= this.#deps.rules);
  }

  /** What the engine has left, under numbers that may be higher: it waits for this one. */
  #followsWhatIsLeft(at: ReplicaNote): boolean {
    const follows = at.isLevel || (!at.isLost && this.#needs('history', FOLLOWS_AFTER_MS));
    return follows && this.#isOfSameEpoch(at);
  }

  #hasLess(other: string, at: ReplicaNote): boolean {
    const { lastSeq } = this.#deps.standing();
    if (at.isLevel) return false;
    return at.lastSeq < lastSeq || (at.lastSeq === lastSeq && this.#deps.name < other);
  }

  /** The others have gone on without what this replica alone has. */
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

  /** For so long. */
  #needs(kind: Need, ms: number): boolean {
    const { need } = this.#deps.following();
    return need?.kind === kind && this.#lasts(need.atMs) >= ms;
  }

  #lasts(sinceMs: number | null): number {
    return sinceMs === null ? Number.POSITIVE_INFINITY : performance.now() - sinceMs;
  }
}
