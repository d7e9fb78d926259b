/** Writes `.env.example` and the table of docs/configuration.md from the variables (src/config/variables.ts). */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { plain } from '../src/config/kinds.ts';
import { isSecret, VARIABLES, VARIABLE_NAMES } from '../src/config/variables.ts';
import type { Variable, VariableName } from '../src/config/variables.ts';

const WIDTH = 118;
const BEGIN = '<!-- begin: written by npm run generate -->';
const END = '<!-- end -->';

/** What `.env.example` sets, which fits the sandbox. */
const SANDBOX: Partial<Record<VariableName, string>> = {
  SERVICE_BASE_URL: 'http://127.0.0.1:8790',
  SERVICE_CLIENT_ID: 'sandbox-client',
  SERVICE_CLIENT_SECRET: 'sandbox-secret',
  SERVICE_WEBHOOK_SECRET: 'sandbox-webhook-secret',
};

const root = (name: string): string => fileURLToPath(new URL(`../${name}`, import.meta.url));

function envExample(): string {
  const head = `# Configuration of stock-mirror: copy this file to .env and edit it. Written by npm run generate.
#
# The values are those of the sandbox: \`cp .env.example .env\` and \`npm start\` work while \`npm run sandbox\` runs.
# A line that is commented out shows the default. A variable of the environment wins over this file. Put quotes around
# a value that holds a # or begins or ends with a space.
#
# Every secret can be read from a file instead: name the file in the same variable with _FILE at its end.
`;
  return head + VARIABLE_NAMES.map(envEntry).join('');
}

function envEntry(name: VariableName): string {
  const { meaning, kind, unset }: Variable = VARIABLES[name];
  const sandbox = SANDBOX[name];
  const text = comment(plain(`${meaning}. Holds ${kind.accepts}.${unset === null ? ' Default: none.' : ''}`));
  const line = sandbox === undefined ? `# ${name}=${unset ?? ''}` : `${name}=${sandbox}`;
  const file = isSecret(name) ? `# ${name}_FILE=\n` : '';
  return `\n${text}${line}\n${file}`;
}

function comment(text: string): string {
  const lines = ['#'];
  for (const word of text.split(' ')) {
    const last = lines.at(-1) ?? '';
    if (last.length + 1 + word.length > WIDTH) lines.push(`# ${word}`);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return `${lines.join('\n')}\n`;
}

function table(): string {
  const rows = VARIABLE_NAMES.map((name) => {
    const { meaning, kind, unset }: Variable = VARIABLES[name];
    const value = unset === undefined ? 'required' : unset === null ? 'none' : `\`${unset}\``;
    return `| \`${name}\` | ${value} | ${isSecret(name) ? 'yes' : 'no'} | ${kind.accepts} | ${meaning} |`;
  });
  const head = '| variable | default | from a file | may hold | meaning |\n| - | - | - | - | - |';
  return `${BEGIN}\n\n${[head, ...rows].join('\n')}\n\n${END}`;
}

async function writeTable(path: string): Promise<void> {
  const text = readFileSync(path, 'utf8');
  const [before, rest = ''] = text.split(BEGIN);
  const [, after] = rest.split(END);
  if (before === undefined || after === undefined) throw new Error(`${path} has no ${BEGIN} with its ${END}`);
  const options = await resolveConfig(path);
  writeFileSync(path, await format(before + table() + after, { ...options, parser: 'markdown' }));
}

writeFileSync(root('.env.example'), envExample());
await writeTable(root('docs/configuration.md'));
