/**
 * A number means the same on every replica: of the event log, and of the change feed, within one epoch
 * (docs/beyond-one-machine.md#replicas). Looked at after every commit of every replica.
 */
import { prepared } from '../../../src/sqlite/prepared.ts';
import type { Db } from '../../../src/sqlite/open.ts';

interface Seen {
  epoch: string;
  logSeq: number;
  changeSeq: number;
}

interface LogRow {
  readonly seq: number;
  readonly text: string;
  readonly bodyHash: string | null;
}

export class EqualNumbers {
  readonly #fault: (what: string) => void;
  readonly #meanings = new Map<string, { readonly text: string; readonly by: string }>();
  readonly #seen = new WeakMap<Db, Seen & { readonly log: Db; readonly name: string }>();
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
    const rows = prepared<[number, number], LogRow>(
      seen.log,
      `SELECT seq, hex(body_hash) AS bodyHash, kind || ' ' || at_ms || ' ' || length(payload) || ' ' || iif(kind = 'delivery', hex(body_hash), '')
         AS text FROM log WHERE seq > ? AND seq <= ? ORDER BY seq`,
    ).all(seen.logSeq, appliedSeq);
    for (const { seq, text, bodyHash } of rows) {
      this.#mean(`entry ${epoch}/${seq}`, text, seen.name);
      if (bodyHash !== null && bodyHash !== '') this.bodies.add(bodyHash.toLowerCase());
      seen.logSeq = seq;
    }
    const changes = prepared<[number], Record<string, unknown> & { seq: number }>(
      db,
      'SELECT * FROM changes WHERE seq > ? ORDER BY seq',
    ).all(seen.changeSeq);
    for (const change of changes) {
      this.#mean(`change ${epoch}/${change.seq}`, JSON.stringify(change), seen.name);
      seen.changeSeq = change.seq;
    }
  }

  #mean(number: string, text: string, by: string): void {
    const known = this.#meanings.get(number);
    if (known === undefined) this.#meanings.set(number, { text, by });
    else if (known.text !== text)
      this.#fault(`${number} is ${text} on ${by}, and ${known.text} on ${known.by}`);
  }
}
