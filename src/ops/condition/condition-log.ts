/** Log output when the state of the mirror changes, in the words of page and `status`. */
import type { Logger } from '../../platform/log.ts';
import { causeLine, isBlocking, type Cause, type CauseKind } from './cause.ts';
import type { Condition, ConditionName } from './condition.ts';

export class ConditionLog {
  readonly #log: Logger;
  #name: ConditionName | null = null;
  #causes: readonly Cause[] = [];

  constructor(log: Logger) {
    this.#log = log;
  }

  tell({ name, title, headline, causes }: Condition): void {
    const known = new Set<CauseKind>(this.#causes.map(({ kind }) => kind));
    for (const cause of causes) {
      if (known.delete(cause.kind)) continue;
      const { kind, owner, since, until } = cause;
      const told = { condition: name, cause: kind, owner, since, until };
      if (isBlocking(cause)) this.#log.error(told, causeLine(cause));
      else this.#log.warn(told, causeLine(cause));
    }
    for (const kind of known) this.#log.info({ condition: name, cause: kind }, 'this cause is over');
    // A cause has said it.
    if (name !== this.#name && name !== 'blocked')
      this.#log.info({ condition: name }, `${title}: ${headline}`);
    this.#name = name;
    this.#causes = causes;
  }
}
