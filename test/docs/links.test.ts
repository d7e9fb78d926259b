/** No document, comment or test refers to something that is not there. */
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { anchorsOf, codeOf, linksOf } from './markdown.ts';

const root = resolve(import.meta.dirname, '../..');

/** What is made, fetched or written by others. */
const NOT_OURS = new Set(['node_modules', '.git', 'dist', 'coverage', 'data', 'package-lock.json']);
const TEXT =
  /\.(ts|js|mjs|md|json|sql|ya?ml|py|php|sh|c|service|socket|env|conf|svg|html)$|^[^.]+$|^\.[^.]+$/;

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (NOT_OURS.has(entry.name)) return [];
    if (entry.isDirectory()) return filesBelow(path);
    return entry.isFile() && TEXT.test(entry.name) ? [relative(root, path).replaceAll('\\', '/')] : [];
  });
}

const files = new Map(filesBelow(root).map((path) => [path, readFileSync(join(root, path), 'utf8')]));
const documents = [...files].filter(([path]) => path.endsWith('.md'));

const anchors = new Map<string, Set<string>>();
function hasAnchor(document: string, anchor: string): boolean {
  const known = anchors.get(document) ?? anchorsOf(files.get(document) ?? '');
  anchors.set(document, known);
  return known.has(anchor);
}

/** @returns why the place is not there; null when it is. @param path from the root. */
function whyNot(path: string, anchor: string | undefined): string | null {
  if (path.startsWith('..')) return 'is outside of the repository';
  if (!existsSync(join(root, path))) return 'does not exist';
  if (anchor === undefined || !path.endsWith('.md')) return null;
  return hasAnchor(path, anchor) ? null : `has no heading for #${anchor}`;
}

describe('what Markdown means', () => {
  test('anchors are those that GitHub makes', () => {
    const text = [
      '# POST /v1/order/create',
      '## `mirror_stock`: one row *per* level',
      '### "What happens when…"',
      '## Rates & limits',
      '## Rates & limits',
      '### [Linked](x.md) heading ##',
      '### ประตู ๑',
      '```sh',
      '# no heading',
      '```',
      '<a id="by-hand"></a>',
    ].join('\n');
    expect([...anchorsOf(text)]).toEqual([
      'post-v1ordercreate',
      'mirror_stock-one-row-per-level',
      'what-happens-when',
      'rates--limits',
      'rates--limits-1',
      'linked-heading',
      'ประตู-๑',
      'by-hand',
    ]);
  });

  test('links are found in every form, and none in code', () => {
    const text = [
      '[a](one.md#x "title") and ![b](two.png), [![c](three.svg)](four.md)',
      '[d]: five.md',
      '<img src="six.svg" alt="">',
      '`[e](no.md)`',
      '```md',
      '[f](no.md)',
      '```',
    ].join('\n');
    expect(linksOf(text)).toEqual(['one.md#x', 'two.png', 'three.svg', 'four.md', 'five.md', 'six.svg']);
    expect(codeOf(text)).toEqual(['```md\n[f](no.md)\n```', '[e](no.md)']);
  });

  test('a place that is not there is told from one that is', () => {
    expect(whyNot('docs/architecture.md', 'gaps')).toBeNull();
    expect(whyNot('docs/architecture.md', 'no-such-heading')).toBe('has no heading for #no-such-heading');
    expect(whyNot('docs/no-such-file.md', undefined)).toBe('does not exist');
    expect(whyNot('../elsewhere.md', undefined)).toBe('is outside of the repository');
  });
});

test('every link of a document leads somewhere', () => {
  const broken = documents.flatMap(([path, text]) =>
    linksOf(text)
      .filter((target) => !/^[a-z][a-z0-9+.-]*:/i.test(target))
      .flatMap((target) => {
        const [file = '', anchor] = decodeURIComponent(target).split('#');
        const at = file === '' ? path : relative(root, resolve(root, dirname(path), file));
        const why = whyNot(at, anchor);
        return why === null ? [] : [`${path}: ${target} ${why}`];
      }),
  );
  expect(broken).toEqual([]);
});

/** `docs/<file>.md` with or without an anchor, and `<file>.md#<anchor>`, which is in docs/ or beside README. */
const CITATION = /(?<![\w/.-])(?:(docs\/[\w/-]+\.md)(?:#([\w-]+))?|([\w-]+\.md)#([\w-]+))/g;

test('every citation of a document leads somewhere', () => {
  const broken = [...files].flatMap(([path, text]) => {
    // A document's links are relative, and looked at above. The test's own examples are none.
    if (path.endsWith('.md') || path.startsWith('test/docs/')) return [];
    return [...text.matchAll(CITATION)].flatMap(([cited, inDocs, anchor, bare = '', bareAnchor]) => {
      const at = inDocs ?? (existsSync(join(root, bare)) ? bare : `docs/${bare}`);
      const why = whyNot(at, anchor ?? bareAnchor);
      return why === null ? [] : [`${path}: ${cited} ${why}`];
    });
  });
  expect(broken).toEqual([]);
});

test('nothing refers to papers that are not in the repository', () => {
  // Written so that this file does not hold what it looks for.
  const foreign = [['\\bDES', 'IGN\\b'], ['\u00a7'], ['service', '-api\\.md']].map(
    (parts) => new RegExp(parts.join('')),
  );
  const found = [...files].flatMap(([path, text]) =>
    foreign.filter((what) => what.test(text)).map((what) => `${path}: ${what.source}`),
  );
  expect(found).toEqual([]);
});

/** A path as code has it: `src/core/merge/gap.ts`, `test/core`, `src/{a,b}.ts`. Not the end of a longer path. */
const CODE_PATH =
  /(?<![\w./@-])(?:src|test|scripts|deploy|examples|drizzle|docs|\.ci|\.github)\/[\w./*{,}-]*/g;

test('every path of the repository that a document names is there', () => {
  const missing = documents.flatMap(([path, text]) =>
    codeOf(text)
      .flatMap((code) => code.match(CODE_PATH) ?? [])
      // Of a pattern the folder must be there; a sentence may end behind the path.
      .map((named) => named.replace(/[^/]*[*{].*$/, '').replace(/[.,/]+$/, ''))
      .filter((named) => !existsSync(join(root, named)))
      .map((named) => `${path}: ${named}`),
  );
  expect(missing).toEqual([]);
});

test('every npm script and every command that a document names is there', () => {
  const { scripts } = JSON.parse(files.get('package.json') ?? '') as { scripts: Record<string, string> };
  const verbs = new Set(
    [...files.keys()].flatMap((path) => /^src\/cli\/([a-z]+)\.ts$/.exec(path)?.[1] ?? []),
  );
  const unknown = documents.flatMap(([path, text]) =>
    codeOf(text).flatMap((code) => [
      ...[...code.matchAll(/\bnpm run ([a-z:-]+)/g)]
        .filter(([, name = '']) => !(name in scripts))
        .map(([all]) => `${path}: ${all}`),
      ...[...code.matchAll(/(?:^|[\s(])stock-mirror ([a-z]+)\b(?![.:])/gm)]
        .filter(([, verb = '']) => verb !== 'help' && !verbs.has(verb))
        .map(([all]) => `${path}: ${all.trim()}`),
    ]),
  );
  expect(unknown).toEqual([]);
});

test('the index names every document', () => {
  const linked = new Set(linksOf(files.get('docs/README.md') ?? ''));
  const inFolder = readdirSync(join(root, 'docs')).filter(
    (name) => name !== 'README.md' && name.endsWith('.md') && statSync(join(root, 'docs', name)).isFile(),
  );
  expect(inFolder.filter((name) => !linked.has(name))).toEqual([]);
});
