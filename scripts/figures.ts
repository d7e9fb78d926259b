/** `npm run figures`: prints the table of docs/architecture.md, the lines of source and tests for each promise. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');

/** Each file belongs to the first part that names it. */
const PARTS: readonly (readonly [string, RegExp])[] = [
  [
    '4. No claim without evidence: coverage, way in, trust, state',
    /coverage|claims|way-in|probe|barrier|missed|suspicion|suspects|sellable|trust|strangers|hostile|own-clock|shared-clock|ops\/state|faces|steady-sales|core\/reasons/,
  ],
  ['6. No value stays unchecked: verification', /verification|checked-in-time|checked-since/],
  [
    '1. An acknowledged webhook is on disk: receiver, inbox',
    /^(src|test)\/(receiver|inbox|crash)|process\/disk|platform\/(listen|accept)/,
  ],
  ['3. Lost webhooks are detected: gaps', /gap|open-order|derived/],
  [
    'Removals, moves, unknown variants',
    /absence|removal|remove|tombstone|guard|moved|unknown|missing|kind-change|lookups|search|catalogue-scan|list-reader|listed|decisions/,
  ],
  ['5. Every doubt becomes a read: queue, runs', /read-request|queue|due-reads|open-reads|reconcile|runs/],
  ['2. Reads and changes are merged in order: the other rules', /^(src|test)\/core/],
  ['the mirror’s file, its start and its one writer', /^(src|test)\/(mirror\/(?!queries)|sqlite|app)/],
  ['queries, API, page, metrics, commands', /^(src|test)\/(mirror\/queries|ops|web|cli|config|browser)/],
  ['feed and its client, examples, readers in other languages', /^(src|test)\/(feed|examples|readers)/],
  ['several machines', /^(src|test)\/stream/],
  ['client of the store’s API, orders', /^(src|test)\/(store-api|contract)|order-flow/],
  ['sandbox and demo', /^(src|test)\/sandbox/],
  ['all promises together: simulation, whole processes', /^test\/(simulation|process|promises)/],
  ['the rest: platform, entries, deployment, documents, package', /./],
];

interface Lines {
  source: number;
  tests: number;
}

const lines = new Map<string, Lines>(PARTS.map(([part]) => [part, { source: 0, tests: 0 }]));
const files = execFileSync('git', ['ls-files', 'src', 'test'], { cwd: ROOT, encoding: 'utf8' });
for (const file of files.trim().split('\n')) {
  if (!/\.(ts|js|css|py|php|c)$/.test(file)) continue;
  const [part = ''] = PARTS.find(([, belongs]) => belongs.test(file)) ?? [];
  const count = readFileSync(join(ROOT, file), 'utf8').split('\n').length - 1;
  const sum = lines.get(part) ?? { source: 0, tests: 0 };
  if (file.startsWith('src/')) sum.source += count;
  else sum.tests += count;
}

console.log('| part | lines of `src` | lines of `test` |\n| --- | --: | --: |');
for (const [part, { source, tests }] of [...lines].toSorted(([a], [b]) => order(a) - order(b)))
  console.log(`| ${part} | ${source} | ${tests} |`);

/** Promises by number, then the parts in their order above. */
function order(part: string): number {
  const number = Number.parseInt(part, 10);
  return Number.isNaN(number) ? 10 + PARTS.findIndex(([each]) => each === part) : number;
}
