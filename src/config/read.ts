/** Finds a text for each variable: in the environment, in `.env`, or in the file that `<NAME>_FILE` names. */
import { join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import type { ConfigProblem } from './error.ts';
import { SETTABLE_NAMES, VARIABLES, VARIABLE_NAMES } from './variables.ts';
import type { Variable, VariableName } from './variables.ts';

export interface Sources {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where `.env` is looked for, and the base of relative paths. */
  readonly cwd: string;
  /** Returns the text of a file; throws as `fs.readFileSync` does. */
  readonly readFile: (path: string) => string;
}

export function readTexts({ env, cwd, readFile }: Sources) {
  const problems: ConfigProblem[] = [];
  // Some editors begin a file with a byte order mark.
  const textOf = (path: string): string => readFile(path).replace(/^\uFEFF/, '');
  let dotenv: NodeJS.Dict<string> = {};
  const path = join(cwd, '.env');
  try {
    const text = textOf(path);
    if (text.includes('\0')) {
      problems.push({ name: path, problem: 'is not UTF-8 text, but UTF-16', remedy: 'Save it as UTF-8.' });
    } else dotenv = parseEnv(text);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT')
      problems.push(unreadable(path, '', error, 'Make it readable, or remove it.'));
  }
  // The environment wins over `.env`, also with an empty variable.
  const given = { ...dotenv, ...env };
  /** A variable that is not in the map is unset, an empty one too; null: set, and wrong already. */
  const texts = new Map<VariableName, string | null>();
  for (const name of VARIABLE_NAMES) {
    const variable: Variable = VARIABLES[name];
    const text = given[name] ?? '';
    const fileName = `${name}_FILE`;
    const file = variable.fromFile === true ? (given[fileName] ?? '') : '';
    if (file === '') {
      if (text !== '') texts.set(name, text);
    } else if (text === '') {
      const read = readSecret(fileName, resolve(cwd, file), textOf);
      texts.set(name, typeof read === 'string' ? read : null);
      if (typeof read !== 'string') problems.push(read);
    } else {
      texts.set(name, null);
      problems.push({ name, problem: `and ${fileName} are both set`, remedy: 'Keep one of the two.' });
    }
  }
  return { texts, problems, warnings: [...misspelt(Object.keys(given)), ...overruled(dotenv, env)] };
}

function readSecret(name: string, path: string, textOf: (path: string) => string): string | ConfigProblem {
  const remedy = 'Name a file that this user can read and that holds the secret and nothing else.';
  try {
    // Editors and `echo` end a file with a line break that is not part of the secret; any further ones are kept.
    const text = textOf(path).replace(/\r?\n$/, '');
    if (text !== '' && !text.includes('\uFFFD')) return text;
    return { name, problem: `names ${path}, which is ${text === '' ? 'empty' : 'not UTF-8 text'}`, remedy };
  } catch (error) {
    return unreadable(name, `names ${path}, which `, error, remedy);
  }
}

function unreadable(name: string, which: string, error: unknown, remedy: string): ConfigProblem {
  const code = codeOf(error);
  const problem = `${which}cannot be read (${code})`;
  // The file belongs to another user, such as the mirror's own.
  return { name, problem, remedy, isAbsent: code === 'EACCES' || code === 'EPERM' };
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}

/** Shells and package managers set some of these names too, such as HOST. */
function overruled(dotenv: NodeJS.Dict<string>, env: Sources['env']): ConfigProblem[] {
  return SETTABLE_NAMES.filter(
    (name) => dotenv[name] !== undefined && env[name] !== undefined && env[name] !== dotenv[name],
  ).map((name) => ({
    name,
    problem: 'is set in .env and, to another value, in the environment, which wins',
    remedy: 'Remove it from one of the two.',
  }));
}

/** Warnings only: other programs have variables too. */
function misspelt(names: readonly string[]): ConfigProblem[] {
  const known = SETTABLE_NAMES.filter((name) => name.length > 4);
  return names.flatMap((name) => {
    const meant = known.find((one) => isNear(name.toUpperCase(), one));
    if (meant === undefined || SETTABLE_NAMES.includes(name)) return [];
    const problem = `is not a variable of stock-mirror and is ignored; did you mean ${meant}?`;
    return [{ name, problem, remedy: 'Correct the name, or remove it from the environment and from .env.' }];
  });
}

/** At most one letter is missing, added or wrong. */
function isNear(name: string, known: string): boolean {
  let same = 0;
  while (same < name.length && name[same] === known[same]) same += 1;
  const rest = [0, 1].map((skipped) => known.slice(same + skipped));
  return [0, 1].some((skipped) => rest.includes(name.slice(same + skipped)));
}
