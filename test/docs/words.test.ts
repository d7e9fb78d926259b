/**
 * The words that people read: one meaning each (docs/glossary.md). Checks the texts of the program, its documents and
 * its examples. To look at other folders than the listed ones: `WORDS_IN=src/core,src/cli npx vitest run test/docs/words.test.ts`.
 */
import { globSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, it } from 'vitest';
import { namesOfProgram, textsOfDocument, textsOfPlainFile, textsOfProgram, type Text } from './texts.ts';

const root = join(import.meta.dirname, '..', '..');

const CHECKED = ['src', 'docs', 'README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', 'deploy'];

/** The unwanted word, and what to say instead. */
const BANNED: readonly (readonly [string, string])[] = [
  ['services?', 'the store, or the mirror'],
  ['obligations?|oblige[ds]?', 're-read request'],
  ['doubts?|doubted|in doubt', 're-read request'],
  ['owe[ds]?|owing', 're-read request'],
  ['canar(y|ies)|crowds?', 'loss sweep'],
  ['poison(s|ed)?', 'future-dated change'],
  ['brakes?', 'mass-removal guard'],
  ['quarantine[ds]?', 'dead letter'],
  ['latch(es|ed)?', 'credential lockout'],
  ['(?<!loss )sweeps?|swept', 'catalogue scan, or run'],
  ['walk(s|ed|ing)?', 'catalogue scan'],
  ['pulses?|signs? of life', 'heartbeat'],
  ['fold(s|ed|ing)?(?! line)', 'to apply, the projection'],
  ['ledgers?', 'the projection'],
  ['cells?', 'stock level'],
  ['told', 'say who says it'],
  ['nobody', 'say who or what does not'],
  ['on record', 'recorded'],
  ['read(Lo|Hi)', 'low or high watermark'],
  ['not listen(ed)?|listened for', 'downtime'],
];

/** Names that a contract fixes, and the few sentences that mean the ordinary word. */
const EXCEPTIONS: readonly { readonly path: string; readonly text: RegExp; readonly reason: string }[] = [
  {
    path: 'src/sandbox/api/openapi.ts',
    text: /^'Order and Catalogue Service API'$/,
    reason: 'the title of the store’s own document',
  },
  {
    path: 'src/core',
    text: /^'(1 new cell|4b in doubt|gone, in doubt|new cell|superseded, unknown cell)'$/,
    reason: 'values of the metric label `branch`',
  },
  {
    path: 'deploy/systemd',
    text: /\[Service\]|stock-mirror\.service|systemd\.service/,
    reason: 'what systemd calls a unit of this kind',
  },
  {
    path: 'docs/glossary.md',
    text: /^\|.*\|$/,
    reason: 'its last column has the words that the code still uses',
  },
  {
    path: 'docs/reading-the-mirror.md',
    text: /fulfilment service/,
    reason: 'the store’s own words for a reason',
  },
  {
    path: 'docs/schemas',
    text: /./,
    reason: 'names of the contract; its sentences are looked at in src, of which it is made',
  },
  { path: 'deploy/container/compose.yaml', text: /^services:/, reason: 'a key of Compose' },
];

// An identifier is no word: what touches a dot, slash, dash, underscore, dollar or equals sign.
const PATTERN = new RegExp(
  `(?<![\\w./$#@=-])(?:${BANNED.map(([word]) => `(${word.replaceAll(/\((?!\?)/g, '(?:')})`).join('|')})(?![\\w/=-]|\\.\\w)`,
  'gi',
);

function filesIn(path: string): string[] {
  if (!statSync(join(root, path)).isDirectory()) return [path];
  return globSync('**/*', { cwd: join(root, path) })
    .map((name) => join(path, name))
    .filter((name) => statSync(join(root, name)).isFile() && !/\.(png|svg|ico)$/.test(name))
    .toSorted();
}

function textsOf(path: string): Text[] {
  const content = readFileSync(join(root, path), 'utf8');
  if (path.endsWith('.ts')) return textsOfProgram(content);
  return path.endsWith('.md') ? textsOfDocument(content) : textsOfPlainFile(content);
}

function unwanted(path: string, texts: readonly Text[]): string[] {
  return texts
    .filter(({ text }) => !EXCEPTIONS.some((each) => path.startsWith(each.path) && each.text.test(text)))
    .flatMap(({ line, text }) =>
      [...text.matchAll(PATTERN)].map(([word, ...groups]) => {
        const [, instead] = BANNED[groups.findIndex((group) => group !== undefined)] ?? [];
        return `${path}:${line} "${word}" (${instead}): ${text.trim()}`;
      }),
    );
}

/** As above, in the names that the code gives: in camel case, with what stands before or after. */
const BANNED_IN_NAMES: readonly (readonly [RegExp, string])[] = [
  [/(?<!thousand)fold(?!er)/i, 'apply'],
  [/ledger/i, 'unit of work'],
  [/poison/i, 'future-dated'],
  [/brake/i, 'guard'],
  [/canar(y|ies)|crowd/i, 'loss sweep'],
  [/oblig/i, 'read request'],
  [/pulse/i, 'heartbeat'],
  [/(?<!loss[_ -]?)swe(ep|pt)/i, 'scan'],
  [/walk/i, 'scan'],
  [/(?<!can|ex|mis)cell/i, 'stock level'],
  [/quarantin/i, 'dead letter'],
  [/(?<![a-z])latch/i, 'lockout'],
  [/doubt/i, 're-read request, suspect, or uncertainty'],
  [/(?<![a-z])ow(ed|es|ing)(?![a-z])|obligation/i, 're-read request'],
];

/** Codes that are recorded or counted under these names, and stocks that are a ledger. */
const NAMES_ALLOWED: readonly { readonly path: RegExp; readonly name: RegExp }[] = [
  { path: /^src\/(core\/reasons|ops\/shared\/words)\.ts$/, name: /^canary$/ },
  { path: /^src\/sandbox\//, name: /ledger/i },
  // Columns, and fields of the API: the counts of the status, and the sandbox's `/truth`.
  {
    path: /^src\/(mirror\/file\/(columns|schema)|mirror\/queries\/status|ops\/(api\/status|condition\/condition|page\/overview-view)|cli\/(status|demo\/compare)|sandbox\/world\/truth)\.ts$/,
    name: /^cells$/,
  },
  // A reason, a kind of fact, and fields of the API.
  {
    path: /^src\/(core\/(reasons|apply\/fact)|ops\/(shared\/words|api\/(history|prune|status)|page\/(deliveries|overview)-view)|cli\/(prune|prune\/in-server|shared\/answers|status)|mirror\/(queries\/status|writer\/(pruned|records)))\.ts$/,
    name: /^quarantined?$/,
  },
  // What a removed thing is: a label of the metrics, and a field of the log's lines.
  {
    path: /^src\/(core\/apply\/removal-guard|mirror\/writer\/sqlite-tables|ops\/state\/fact-log)\.ts$/,
    name: /^cell$/,
  },
  // A key of the token file, and a function of the client library.
  {
    path: /^src\/(store-api|cli\/doctor|client\.ts|app\/shared-lockout\.ts)/,
    name: /^(latch|releaseLatch)$/,
  },
  { path: /^src\/reconcile\//, name: /^releaseLatch$/ },
  // A column.
  { path: /^src\/mirror\/queries\/overview\.ts$/, name: /^doubt$/ },
];

/** @param path of the file, which is a name too. */
function unwantedNames(path: string, source: string): string[] {
  const allowed = NAMES_ALLOWED.filter((each) => each.path.test(path));
  const ofFile = { line: 0, text: basename(path, '.ts') };
  return [ofFile, ...namesOfProgram(source)]
    .filter(({ text }) => !allowed.some(({ name }) => name.test(text)))
    .flatMap(({ line, text }) =>
      BANNED_IN_NAMES.filter(([word]) => word.test(text)).map(
        ([, instead]) => `${path}:${line} ${text}: say ${instead}`,
      ),
    );
}

it('names and comments in src use the words of the glossary', () => {
  const files = filesIn('src').filter((path) => path.endsWith('.ts'));
  expect(files.flatMap((path) => unwantedNames(path, readFileSync(join(root, path), 'utf8')))).toEqual([]);
});

it('finds an unwanted word in a name, wherever it stands', () => {
  const source =
    'const sendCanaryNow = 1; a.#brake = { poison, lossSweepAt }; folder(unfold, "ledger"); putCell(miscellany);\n// Of the brake.';
  expect(unwantedNames('src/brake.ts', source)).toEqual([
    'src/brake.ts:0 brake: say guard',
    'src/brake.ts:1 sendCanaryNow: say loss sweep',
    'src/brake.ts:1 #brake: say guard',
    'src/brake.ts:1 poison: say future-dated',
    'src/brake.ts:1 unfold: say apply',
    'src/brake.ts:1 putCell: say stock level',
    'src/brake.ts:2 // Of the brake.: say guard',
  ]);
});

const { WORDS_IN } = process.env;
const folders = WORDS_IN === undefined ? CHECKED : WORDS_IN.split(',');

it.each(folders)('texts of %s use the words of the glossary', (folder) => {
  const files = filesIn(folder);
  expect(files).not.toEqual([]);
  expect(files.flatMap((path) => unwanted(path, textsOf(path)))).toEqual([]);
});

it('finds an unwanted word wherever a person reads it', () => {
  const source = [
    `const a = 'the service cannot be read';`,
    'const b = html`<p title="two cells">${x}',
    `  nobody</p>`,
    '`;',
    "const c = `${n} products were ${'once told'} owed`;",
    `const d = 'Doubts';`,
  ].join('\n');
  const found = unwanted('any.ts', textsOfProgram(source)).map((line) => line.split(' (')[0]);
  expect(found.toSorted()).toEqual([
    'any.ts:1 "service"',
    'any.ts:2 "cells"',
    'any.ts:3 "nobody"',
    'any.ts:5 "owed"',
    'any.ts:5 "told"',
    'any.ts:6 "Doubts"',
  ]);
  expect(unwanted('any.md', textsOfDocument('A [service](x)\n'))).toHaveLength(1);
});

it('leaves names alone', () => {
  const source = [
    `import { serve } from './service/told.ts';`,
    `const a = ['obligation', 'SERVICE_BASE_URL is not set', 'SELECT * FROM cells AS cell'];`,
    'const b = html`<td class="cell" id="ledger">a service_unreachable alarm</td>`;',
    'const c = `.cell { color: red; }`;',
  ].join('\n');
  expect(unwanted('any.ts', textsOfProgram(source))).toEqual([]);
  expect(unwanted('any.md', textsOfDocument('`service`\n```sh\nservice\n```\n'))).toEqual([]);
});
