import { visible } from '../platform/visible.ts';

/** A configuration problem. Its texts never contain the value of a secret. */
export interface ConfigProblem {
  /** A variable or a file. */
  readonly name: string;
  /** The rest of a sentence that begins with the name. */
  readonly problem: string;
  readonly remedy: string;
  /** The value is missing, or in a file that this user may not read. */
  readonly isAbsent?: boolean;
}

export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly ConfigProblem[];

  constructor(problems: readonly ConfigProblem[]) {
    super(`configuration: ${problems.map(({ name, problem }) => `${name} ${problem}`).join('; ')}`);
    this.problems = problems;
  }
}

export function formatConfigError(error: ConfigError): string {
  const count = error.problems.length;
  const heading = `The configuration has ${count === 1 ? 'a problem' : `${count} problems`}:`;
  const items = error.problems.map(
    ({ name, problem, remedy }) => `  ${visible(`${name} ${problem}`)}\n    ${visible(remedy)}`,
  );
  return [heading, ...items, 'Each variable is explained in .env.example.'].join('\n');
}
