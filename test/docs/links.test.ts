import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { anchorsOf, linksOf } from './markdown.ts';

const root = resolve(import.meta.dirname, '../..');

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

/** @returns the problem, or null. @param path from the root. */
function whyNot(path: string, anchor: string | undefined): string | null {
  if (path.startsWith('..')) return 'is outside of the repository';
  if (!existsSync(join(root, path))) return 'does not exist';
  if (anchor === undefined || !path.endsWith('.md')) return null;
  return hasAnchor(path, anchor) ? null : `has no heading for #${anchor}`;
}

test('every link in a document resolves', () => {
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

/** `docs/<file>.md` with or without an anchor, or `<file>.md#<anchor>`. */
const CITATION = /(?<![\w/.-])(?:(docs\/[\w/-]+\.md)(?:#([\w-]+))?|([\w-]+\.md)#([\w-]+))/g;

test('every citation of a document resolves', () => {
  const broken = [...files].flatMap(([path, text]) => {
    if (path.endsWith('.md') || path.startsWith('test/docs/')) return [];
    return [...text.matchAll(CITATION)].flatMap(([cited, inDocs, anchor, bare = '', bareAnchor]) => {
      const at = inDocs ?? (existsSync(join(root, bare)) ? bare : `docs/${bare}`);
      const why = whyNot(at, anchor ?? bareAnchor);
      return why === null ? [] : [`${path}: ${cited} ${why}`];
    });
  });
  expect(broken).toEqual([]);
});

test('no text names an address of this project that package.json does not have', () => {
  const { repository } = JSON.parse(files.get('package.json') ?? '') as { repository?: { url: string } };
  const addresses = [...files].flatMap(([path, text]) =>
    [...text.matchAll(/[\w.-]+\.(?:com|org|dev|io)\/stock-mirror[\w/-]*/g)].map(([address]) => ({
      path,
      address,
    })),
  );
  expect(addresses.filter(({ address }) => repository?.url.includes(address) !== true)).toEqual([]);
});

const SOURCE = /(?<![\w/.@-])(?:src|test|scripts|deploy|examples|drizzle)\/[\w./@-]*\w(?!\.?[<*{]|[\w-])/g;

test('every source path in a document exists', () => {
  const broken = documents.flatMap(([path, text]) =>
    [...text.matchAll(SOURCE)]
      .map(([named]) => named)
      .filter((named) => !existsSync(join(root, named)))
      .map((named) => `${path}: ${named} does not exist`),
  );
  expect(broken).toEqual([]);
});
