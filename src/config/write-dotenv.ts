/** The text of a `.env` file: each value so that it is read back as it is. */
import { parseDotenv } from './dotenv.ts';
import { ConfigError } from './error.ts';
import type { VariableName } from './variables.ts';

/** Read alike with and without quotes. */
const PLAIN = /^[\w./:@%+,~-]+$/;
/** In double quotes a backslash would have a meaning. */
const QUOTES = ["'", '`', '"'];

/** @throws ConfigError naming a value that cannot be written. */
export function dotenvText(values: ReadonlyMap<VariableName, string>): string {
  const lines = [...values].map(([name, value]) => `${name}=${written(value)}\n`);
  const text = `# Every setting is explained in docs/configuration.md.\n${lines.join('')}`;
  const { values: read } = parseDotenv(text);
  const lost = [...values].filter(([name, value]) => read[name] !== value);
  if (lost.length === 0) return text;
  throw new ConfigError(
    lost.map(([name]) => ({
      name,
      problem: 'holds characters that cannot be written into .env',
      remedy: `Put it into a file of its own, and name that in ${name}_FILE.`,
    })),
  );
}

function written(value: string): string {
  if (PLAIN.test(value)) return value;
  const quote = QUOTES.find((each) => !value.includes(each)) ?? "'";
  return `${quote}${value}${quote}`;
}
