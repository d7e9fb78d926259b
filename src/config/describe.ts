/** The configuration as it may be shown: every variable by its name, no secret. */
import { readRaw, type Sources } from './raw.ts';
import { VARIABLES, VARIABLE_NAMES, type Variable, type VariableName } from './variables.ts';

export interface DescribedVariable {
  readonly name: VariableName;
  readonly source: 'set' | 'default' | 'unset';
  /** Null when unset; `[secret]` for what must not be shown, `[wrong]` for what is refused. */
  readonly value: string | null;
}

export function describeVariables(sources: Sources): DescribedVariable[] {
  const { texts } = readRaw(sources);
  return VARIABLE_NAMES.map((name) => {
    const variable: Variable = VARIABLES[name];
    const text = texts.get(name);
    if (text === undefined) {
      const value = variable.default ?? null;
      return { name, source: value === null ? 'unset' : 'default', value };
    }
    // A variable that may be read from a file is a secret, and a refused value may hold a secret in the wrong place.
    const isRight = variable.schema.safeParse(text).success;
    const value = variable.fromFile === true ? '[secret]' : isRight ? text : '[wrong]';
    return { name, source: 'set', value };
  });
}
