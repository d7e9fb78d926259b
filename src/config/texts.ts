/** Finds the text of each variable: in the environment, in `.env`, or in the file that `<NAME>_FILE` names. */
import { join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import type { ConfigProblem } from './error.ts';
import { isSecret, SETTABLE_NAMES, VARIABLE_NAMES, type VariableName } from './variables.ts';

export interface Sources {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where `.env` is, and the base of relative paths. */
  readonly cwd: string;
  /** Throws like `fs.readFileSync`. */
  readonly readFile: (path: string) => string;
}

export function readTexts({ env, cwd, readFile }: Sources) {
  const problems: ConfigProblem[] = [];
  /** Some editors begin a file with a byte order mark. */
  const textOf = (path: string, onError: (code: string) => void): string | null => {
    try {
      return readFile(path).replace(/^\uFEFF/, '');
    } catch (error) {
      onError(error instanceof Error && 'code' in error ? String(error.code) : String(error));
      return null;
    }
  };
  const cannotRead = (name: string, which: string, code: string, remedy: string): void => {
    const isAbsent = code === 'EACCES' || code === 'EPERM';
    problems.push({ name, problem: `${which}cannot be read (${code})`, remedy, isAbsent });
  };
  const secretIn = (name: string, path: string): string | null => {
    const remedy = 'Name a file that this user can read and that holds the secret and nothing else.';
    // Editors and `echo` end a file with a line break, which is not part of the secret.
    const text = textOf(path, (code) => cannotRead(name, `names ${path}, which `, code, remedy));
    const secret = text?.replace(/\r?\n$/, '') ?? null;
    if (secret !== '' && secret?.includes('\uFFFD') !== true) return secret;
    const problem = `names ${path}, which is ${secret === '' ? 'empty' : 'not UTF-8 text'}`;
    problems.push({ name, problem, remedy });
    return null;
  };

  const path = join(cwd, '.env');
  const dotenvText = textOf(path, (code) => {
    if (code !== 'ENOENT') cannotRead(path, '', code, 'Make it readable, or remove it.');
  });
  const isUtf16 = dotenvText?.includes('\0') === true;
  if (isUtf16) {
    problems.push({ name: path, problem: 'is not UTF-8 text, but UTF-16', remedy: 'Save it as UTF-8.' });
  }
  const dotenv = parseEnv(isUtf16 ? '' : (dotenvText ?? ''));
  // The environment overrides `.env`, even with an empty value.
  const variables: NodeJS.Dict<string> = { ...dotenv, ...env };
  /** Unset and empty variables are not in the map. null if set, and already reported as wrong. */
  const texts = new Map<VariableName, string | null>();
  for (const name of VARIABLE_NAMES) {
    const text = variables[name] ?? '';
    const file = isSecret(name) ? (variables[`${name}_FILE`] ?? '') : '';
    if (file !== '' && text !== '') {
      texts.set(name, null);
      problems.push({ name, problem: `and ${name}_FILE are both set`, remedy: 'Keep one of the two.' });
    } else if (file !== '') texts.set(name, secretIn(`${name}_FILE`, resolve(cwd, file)));
    else if (text !== '') texts.set(name, text);
  }
  // Shells and package managers also set some of these names, such as HOST.
  const warnings = SETTABLE_NAMES.filter(
    (name) => (dotenv[name] ?? env[name]) !== (env[name] ?? dotenv[name]),
  ).map((name) => ({
    name,
    problem: 'is set in .env and, to another value, in the environment, which wins',
    remedy: 'Remove it from one of the two.',
  }));
  for (const [name, text] of texts) warnings.push(...oddities(name, text ?? ''));
  return { texts, problems, warnings };
}

/** Signs that a tool altered the value on its way here. Such values are accepted with a warning. */
function oddities(name: string, text: string): ConfigProblem[] {
  if (/[\p{Cc}\uFFFD]/u.test(text)) {
    const problem = 'contains a line break, another control character, or bytes that are not UTF-8';
    const remedy = 'In .env, use single quotes or none: between double quotes, \\n becomes a line break.';
    return [{ name, problem, remedy }];
  }
  if (text === text.trim() && !/^(["'`]).*\1$/.test(text)) return [];
  const problem = 'begins and ends with a quote, or with white space, as part of the value';
  const remedy = 'Remove it: docker --env-file, Kubernetes and others pass quotes and spaces on as they are.';
  return [{ name, problem, remedy }];
}
