import { isBuiltin } from 'node:module';
import { dirname, relative, resolve, sep } from 'node:path';
import type { Rule } from 'eslint';
import { AREAS, areaOf } from './areas.ts';
import type { Area } from './areas.ts';

/**
 * Reports an import in src/ that the table in areas.ts does not allow. Re-exports, type imports and dynamic imports
 * count as imports: each of them ties one area to another.
 */
export const dependencyDirection: Rule.RuleModule = {
  meta: {
    type: 'problem',
    schema: [],
    messages: {
      direction: 'src/{{from}} may not import {{to}}: see scripts/eslint/areas.ts.',
      unlisted: 'src/{{path}} belongs to no area: list it in scripts/eslint/areas.ts.',
      computed: 'An import whose target is computed cannot be checked: name the file.',
    },
  },
  create(context) {
    const source = resolve(context.cwd, 'src');
    const path = below(source, context.filename);
    if (path === undefined) return {};
    const from = areaOf(path);
    const area = AREAS[from];
    if (area === undefined) {
      return {
        Program: (node) => {
          context.report({ node, messageId: 'unlisted', data: { path } });
        },
      };
    }

    const check = (node: Rule.Node, how: How) => {
      const specifier = specifierOf(node);
      if (specifier === null) return;
      if (specifier === undefined) {
        context.report({ node, messageId: 'computed' });
        return;
      }
      const to = target(specifier, source, context.filename);
      if (!isAllowed(area, from, to, how)) {
        context.report({ node, messageId: 'direction', data: { from: path, to: to.name } });
      }
    };
    const checkStatic = (node: Rule.Node) => {
      check(node, 'static');
    };
    return {
      ImportDeclaration: checkStatic,
      ExportNamedDeclaration: checkStatic,
      ExportAllDeclaration: checkStatic,
      TSImportType: checkStatic,
      ImportExpression: (node) => {
        check(node, 'dynamic');
      },
    };
  },
};

type How = 'static' | 'dynamic';

interface Target {
  readonly kind: 'file' | 'manifest' | 'outside' | 'node' | 'npm';
  /** A path below src/ for a file, else the specifier. */
  readonly name: string;
}

function isAllowed(area: Area, from: string, to: Target, how: How): boolean {
  const packages = area.packages ?? 'any';
  switch (to.kind) {
    // Every program may know its own name and version.
    case 'manifest':
    case 'node':
      return packages !== 'none';
    case 'npm':
      return packages === 'any';
    case 'outside':
      return false;
    case 'file': {
      const name = areaOf(to.name);
      if (how === 'dynamic' && area.dynamicImports?.includes(name) === true) return true;
      // An entry is one file, so it has nothing of its own to import.
      return (
        (name === from && to.name.includes('/')) ||
        area.imports.includes(name) ||
        area.files?.includes(to.name) === true
      );
    }
  }
}

function target(specifier: string, source: string, filename: string): Target {
  if (isBuiltin(specifier)) return { kind: 'node', name: specifier };
  if (!/^[./]/.test(specifier)) return { kind: 'npm', name: specifier };
  const file = resolve(dirname(filename), specifier);
  if (file === resolve(source, '../package.json')) return { kind: 'manifest', name: specifier };
  const path = below(source, file);
  return path === undefined ? { kind: 'outside', name: specifier } : { kind: 'file', name: path };
}

/** The path of a file relative to a folder, with slashes; undefined when it is not inside. */
function below(folder: string, file: string): string | undefined {
  const path = relative(folder, file).split(sep).join('/');
  return path.startsWith('..') ? undefined : path;
}

/** The text that is imported from; null for an export of its own, undefined when it is computed. */
function specifierOf(node: Rule.Node): string | null | undefined {
  // TypeScript's `import('x')` type is no ESTree node, but has its source in the same place.
  const { source } = node as { source?: { readonly type: string; readonly value?: unknown } | null };
  if (source === null || source === undefined) return null;
  return source.type === 'Literal' && typeof source.value === 'string' ? source.value : undefined;
}
