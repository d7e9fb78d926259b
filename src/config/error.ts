import { visible } from '../platform/visible.ts';

/** One thing wrong with the configuration. Neither text ever holds the value of a secret. */
export interface ConfigProblem {
  /** The variable, or the file, that is wrong. */
  readonly name: string;
  /** What is wrong, as the rest of a sentence that begins with the name. */
  readonly problem: string;
  /** What to do about it. */
  readonly remedy: string;
  /** A value that this user does not have: it is missing, or in a file that only another user may read. */
  readonly isAbsent?: boolean;
}

/** Everything that is wrong with the configuration, found in one pass, so that it can be corrected in one go. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly ConfigProblem[];

  constructor(problems: readonly ConfigProblem[]) {
    super(`configuration: ${problems.map(({ name, problem }) => `${name} ${problem}`).join('; ')}`);
    this.problems = problems;
  }
}

/** The error as text for a terminal: two lines for each problem, what is wrong and what to do. No final newline. */
export function formatConfigError(error: ConfigError): string {
  const count = error.problems.length;
  const heading = `The configuration has ${count === 1 ? 'a problem' : `${count} problems`}:`;
  const items = error.problems.map(
    ({ name, problem, remedy }) => `  ${visible(`${name} ${problem}`)}\n    ${visible(remedy)}`,
  );
  return [heading, ...items, 'Each variable is explained in .env.example.'].join('\n');
}
