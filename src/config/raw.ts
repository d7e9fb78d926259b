/** The first of two steps: from the environment, `.env` and secret files to one text for each variable. */
import { join, resolve } from 'node:path';
import { BYTE_ORDER_MARK } from './byte-order-mark.ts';
import { parseDotenv } from './dotenv.ts';
import type { ConfigProblem } from './error.ts';
import { misspeltInDotenv, misspeltInEnvironment } from './misspelt.ts';
import { SETTABLE_NAMES, VARIABLES, VARIABLE_NAMES } from './variables.ts';
import type { Variable, VariableName } from './variables.ts';

export interface Sources {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where `.env` is looked for, and the base of relative paths. */
  readonly cwd: string;
  /** Returns the text of a file; throws as `fs.readFileSync` does. */
  readonly readFile: (path: string) => string;
}

export interface RawConfig {
  /** A variable that is not in the map is unset; an empty one counts as unset. */
  readonly texts: ReadonlyMap<VariableName, string>;
  /** Variables that were set but could not be read: wrong already, so not also "missing". */
  readonly unreadable: ReadonlySet<VariableName>;
  readonly problems: readonly ConfigProblem[];
  /** What does not stop the start, but may not be what was meant. */
  readonly warnings: readonly ConfigProblem[];
}

export function readRaw(sources: Sources): RawConfig {
  const dotenv = readDotenv(sources);
  const problems = [...dotenv.problems];
  const warnings = [
    ...misspeltInDotenv(Object.keys(dotenv.values)),
    ...misspeltInEnvironment(setNames(sources.env)),
  ];
  const given = overlay(sources.env, dotenv.values);
  const texts = new Map<VariableName, string>();
  const unreadable = new Set<VariableName>();
  for (const name of VARIABLE_NAMES) {
    const result = readVariable(name, given, sources);
    if (typeof result === 'object') {
      problems.push(result);
      unreadable.add(name);
    } else if (result !== '') {
      texts.set(name, result);
    }
  }
  return { texts, unreadable, problems, warnings };
}

function readVariable(name: VariableName, given: Readonly<Record<string, string>>, sources: Sources) {
  const variable: Variable = VARIABLES[name];
  const text = given[name] ?? '';
  const fileVariable = `${name}_FILE`;
  const file = variable.fromFile === true ? (given[fileVariable] ?? '') : '';
  if (file === '') return text;
  if (text === '') return readSecretFile(fileVariable, resolve(sources.cwd, file), sources);
  return {
    name,
    problem: `and ${fileVariable} are both set`,
    remedy: 'Keep one of the two.',
  };
}

function readSecretFile(variable: string, path: string, { readFile }: Sources): string | ConfigProblem {
  const fault = (problem: string): ConfigProblem => ({
    name: variable,
    problem: `names ${path}, which ${problem}`,
    remedy: 'Name a file that this user can read and that holds the secret and nothing else.',
  });
  try {
    // Editors and `echo` end a file with a line break that is not part of the secret; any further ones are kept.
    const text = readFile(path)
      .replace(BYTE_ORDER_MARK, '')
      .replace(/\r?\n$/, '');
    if (text === '') return fault('is empty');
    return text.includes('\uFFFD') ? fault('is not UTF-8 text') : text;
  } catch (error) {
    return fault(`cannot be read (${codeOf(error)})`);
  }
}

function readDotenv({ cwd, readFile }: Sources): {
  values: Record<string, string>;
  problems: ConfigProblem[];
} {
  const path = join(cwd, '.env');
  let text: string;
  try {
    text = readFile(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return { values: {}, problems: [] };
    const problem = `cannot be read (${codeOf(error)})`;
    return { values: {}, problems: [{ name: path, problem, remedy: 'Make it readable, or remove it.' }] };
  }
  const { values, faults } = parseDotenv(text);
  const problems = faults.map(({ line, problem }) => ({
    name: `${path} line ${String(line)}`,
    problem,
    remedy: 'Write NAME=value, with quotes around a value that holds # or spaces at its ends.',
  }));
  return { values: { ...values }, problems };
}

/**
 * The real environment wins over `.env`, also when it is empty, and as a pair: a secret given there in either form
 * hides both forms in the file, so that a deployed secret file does not clash with a developer's `.env`.
 */
function overlay(env: Sources['env'], dotenv: Readonly<Record<string, string>>): Record<string, string> {
  const given: Record<string, string> = {};
  for (const name of SETTABLE_NAMES) {
    const base = name.replace(/_FILE$/, '');
    const decided = env[base] !== undefined || env[`${base}_FILE`] !== undefined;
    const text = decided ? env[name] : dotenv[name];
    if (text !== undefined) given[name] = text;
  }
  return given;
}

function setNames(env: Sources['env']): string[] {
  return Object.keys(env).filter((name) => env[name] !== undefined);
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}
