/**
 * A number means the same on every replica: of the event log, and of the change feed, within one epoch
 * (docs/beyond-one-machine.md#replicas). Looked at after every commit of every replica. An engine that has lost its end
 * gives numbers out again until that is noticed, which nobody can know before: then another epoch must follow.
 */
import { prepared } from '../../../src/sqlite/prepared.ts';
import type { Db } from '../../../src/sqlite/open.ts';

interface Seen {
  epoch: string;
  logSeq: number;
  changeSeq: number;
}

interface Meaning {
  readonly text: string;
  /** On whose disks it is, or was. */
  readonly names: Set<string>;
}

interface LogRow {
  readonly seq: number;
  readonly text: string;
  readonly bodyHash: string | null;
}

export class EqualNumbers {
  readonly #fault: (what: string) => void;
  readonly #meanings = new Map<string, Meaning>();
  /** Those in which the engine has lost something. */
  readonly #holed = new Set<string>();
  /** Those in which numbers then got two meanings: which, and on whose disks. */
  readonly #doubled = new Map<string, { readonly what: string; readonly names: readonly string[] }>();
  readonly #seen = new WeakMap<Db, Seen & { readonly log: Db; readonly name: string }>();
  readonly #epochs = new Set<string>();
  /** Bodies that some replica has applied. */
  readonly bodies = new Set<string>();

  constructor(fault: (what: string) => void) {
    this.#fault = fault;
  }

  /** A replica opens its files. */
  watch(name: string, db: Db, log: Db): void {
    this.#seen.set(db, { name, log, epoch: '', logSeq: 0, changeSeq: 0 });
  }

  check(db: Db): void {
    const seen = this.#seen.get(db);
    if (seen === undefined) return;
    const { epoch, appliedSeq } = prepared<[], { epoch: string; appliedSeq: number }>(
      db,
      'SELECT s.epoch, m.applied_seq AS appliedSeq FROM service_state s, mirror_state m',
    ).get() ?? { epoch: '', appliedSeq: 0 };
    // Consumers start over with a new epoch: all that is there has the meaning that it has from now on.
    if (epoch !== seen.epoch) Object.assign(seen, { epoch, logSeq: 0, changeSeq: 0 });
    this.#epochs.add(epoch);
    const rows = prepared<[number, number], LogRow>(
      seen.log,
      `SELECT seq, hex(body_hash) AS bodyHash, kind || ' ' || at_ms || ' ' || length(payload) || ' ' || iif(kind = 'delivery', hex(body_hash), '')
         AS text FROM log WHERE seq > ? AND seq <= ? ORDER BY seq`,
    ).all(seen.logSeq, appliedSeq);
    for (const { seq, text, bodyHash } of rows) {
      this.#mean({ epoch, number: `entry ${seq}` }, text, seen.name);
      if (bodyHash !== null && bodyHash !== '') this.bodies.add(bodyHash.toLowerCase());
      seen.logSeq = seq;
    }
    const changes = prepared<[number], Record<string, unknown> & { seq: number }>(
      db,
      'SELECT * FROM changes WHERE seq > ? ORDER BY seq',
    ).all(seen.changeSeq);
    for (const change of changes) {
      this.#mean({ epoch, number: `change ${change.seq}` }, JSON.stringify(change), seen.name);
      seen.changeSeq = change.seq;
    }
  }

  /** What is given out from here on in an epoch that has begun may have been given out before. */
  engineLost(): void {
    for (const epoch of this.#epochs) this.#holed.add(epoch);
  }

  /** A disk is gone, and with it what nobody else can know. */
  diskLost(name: string): void {
    for (const [number, { names }] of this.#meanings) {
      if (names.delete(name) && names.size === 0) this.#meanings.delete(number);
    }
    for (const [epoch, { names }] of this.#doubled) if (names.includes(name)) this.#doubled.delete(epoch);
  }

  get isAnyDoubled(): boolean {
    return this.#doubled.size > 0;
  }

  /** @returns what has two meanings in this epoch, which must end; null: nothing. */
  doubledIn(epoch: string): string | null {
    return this.#doubled.get(epoch)?.what ?? null;
  }

  #mean(of: { readonly epoch: string; readonly number: string }, text: string, by: string): void {
    const { epoch, number } = of;
    const key = `${number} of ${epoch}`;
    const known = this.#meanings.get(key);
    if (known === undefined) this.#meanings.set(key, { text, names: new Set([by]) });
    else if (known.text === text) known.names.add(by);
    else {
      const names = [by, ...known.names];
      const what = `${key} is ${text} on ${by}, and ${known.text} on ${[...known.names].join(', ')}`;
      if (!this.#holed.has(epoch)) this.#fault(what);
      else if (!this.#doubled.has(epoch)) this.#doubled.set(epoch, { what, names });
    }
  }
}
