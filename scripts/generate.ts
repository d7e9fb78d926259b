/**
 * Generates `.env.example` and the list in docs/configuration.md from src/config/variables.ts, the causes in
 * docs/causes.md and the alert rules from src/ops/state/causes.ts, and the views in docs/reading-the-mirror.md from
 * src/mirror/file/view-columns.ts.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { certificateFile, host, plain, plainText, secret, secretUrl } from '../src/config/kinds.ts';
import {
  isSecret,
  VARIABLE_NAMES,
  VARIABLES,
  type Variable,
  type VariableName,
} from '../src/config/variables.ts';
import { WHY_NOT } from '../src/mirror/file/suspicion.ts';
import { VIEWS, type View } from '../src/mirror/file/view-columns.ts';
import { guideOf } from '../src/ops/state/cause-guide.ts';
import {
  CAUSE_CODES,
  causeOf,
  CAUSES,
  hasTrait,
  OWNER_WORDS,
  type CauseRow,
} from '../src/ops/state/causes.ts';

const WIDTH = 118;
const BEGIN = 'begin: written by npm run generate';
const END = 'end: written by npm run generate';

/** Values in `.env.example`, for the sandbox. */
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
  const text = comment(plain(`${meaning}.${acceptsOf(kind)}${unset === null ? ' Default: none.' : ''}`));
  const line = sandbox === undefined ? `# ${name}=${unset ?? ''}` : `${name}=${sandbox}`;
  return `\n${text}${line}\n`;
}

/** The meaning of a variable says what these accept. */
const OBVIOUS: ReadonlySet<Variable['kind']> = new Set([plainText, secret, host, secretUrl, certificateFile]);

function acceptsOf(kind: Variable['kind']): string {
  return OBVIOUS.has(kind) ? '' : ` Accepts ${kind.accepts}.`;
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

function variableList(): string {
  const items = VARIABLE_NAMES.map((name) => {
    const { meaning, kind, unset }: Variable = VARIABLES[name];
    const value = unset === undefined ? 'required' : unset === null ? 'optional' : `\`${unset}\``;
    const range = /^a whole number (from .*)$/.exec(kind.accepts)?.[1];
    const facts = [value, ...(isSecret(name) ? ['secret'] : []), ...(range === undefined ? [] : [range])];
    return `- \`${name}\` (${facts.join(', ')}): ${meaning}.${range === undefined ? acceptsOf(kind) : ''}`;
  });
  return items.join('\n');
}

function causeList(): string {
  const entries = CAUSE_CODES.map((code) => {
    const { owner, severity, message, remedy } = causeOf(code, null);
    const { title, lost, over } = guideOf(code);
    const { alertAfter }: CauseRow = CAUSES[code];
    const urgency = hasTrait(code, 'isUrgent') ? 'urgent warning' : severity;
    return [
      `### ${code}`,
      `**${title}** (${[urgency, OWNER_WORDS[owner], ...(alertAfter === null ? [] : [alertAfter])].join('; ')})`,
      [
        `- **You see:** ${message}`,
        `- **Lost:** ${lost}`,
        `- **Do this:** ${remedy}`,
        `- **Over:** ${over}`,
      ].join('\n'),
    ].join('\n\n');
  });
  const [first, ...others] = CAUSE_CODES.filter((code) => hasTrait(code, 'isCatchingUp'))
    .map((code) => `\`${code}\``)
    .toReversed();
  const catchingUp = `${others.toReversed().join(', ')} or ${first}`;
  const states = `While there is a critical cause, the state is \`stale\`, and no value is trusted; otherwise, with ${catchingUp}, it is \`catching_up\`; otherwise \`live\`.`;
  return [states, ...entries].join('\n\n');
}

function viewReference(): string {
  const views = Object.entries<View>(VIEWS).map(([view, { rows, columns }]) => {
    const list = Object.entries(columns).map(([name, { isNullable, meaning }]) => {
      const mark = !isNullable ? ':' : meaning.startsWith('null') ? ',' : ', null:';
      return `- \`${name}\`${mark} ${meaning}`;
    });
    return `### ${view}\n\n${rows}\n\n${list.join('\n')}`;
  });
  const reasons = Object.entries(WHY_NOT).map(([code, meaning]) => `- \`${code}\`: ${meaning}`);
  return [
    ...views,
    `### Reasons against trust\n\nValues of \`mirror_sellable.why_not\`.\n\n${reasons.join('\n')}`,
  ].join('\n\n');
}

function causeRules(): string {
  return CAUSE_CODES.flatMap((code) => {
    const { severity, message, remedy } = causeOf(code, null);
    const { alertAfter }: CauseRow = CAUSES[code];
    if (alertAfter === null) return [];
    return `
      - alert: ${alertOf(code)}
        expr: stock_mirror_cause{code="${code}"} == 1
        for: ${alertAfter}
        labels: { severity: ${hasTrait(code, 'isUrgent') ? 'critical' : severity} }
        annotations:
          summary: ${JSON.stringify(`{{ $labels.instance }}: ${message}`)}
          action: ${JSON.stringify(remedy)}
          runbook_url: 'http://{{ $labels.instance }}/causes#${code}'
`;
  }).join('');
}

/** `disk_full`: `StockMirrorDiskFull`. */
function alertOf(code: string): string {
  const words = code
    .replace('mirror_', '')
    .split('_')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return `StockMirror${words.join('')}`;
}

/** Replaces the text between the two marks, which are comments. */
async function writePart(name: string, parser: 'markdown' | 'yaml', part: string): Promise<void> {
  const path = root(name);
  const [begin, end] = [BEGIN, END].map((mark) => (parser === 'yaml' ? `# ${mark}` : `<!-- ${mark} -->`));
  const [before = '', rest = ''] = readFileSync(path, 'utf8').split(`${begin}\n`);
  const [, after] = rest.split(String(end));
  if (after === undefined) throw new Error(`${name} has no ${begin} with its ${end}`);
  const text = `${before}${begin}\n\n${part}\n\n${end}${after}`;
  writeFileSync(path, await format(text, { ...(await resolveConfig(path)), parser }));
}

writeFileSync(root('.env.example'), envExample());
await writePart('docs/configuration.md', 'markdown', variableList());
await writePart('docs/causes.md', 'markdown', causeList());
await writePart('docs/reading-the-mirror.md', 'markdown', viewReference());
await writePart('deploy/prometheus/alerts.yml', 'yaml', causeRules());
