/** What each file imports from which other, and what it exports: read from the syntax, types included. */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import ts from 'typescript';

/** What stands for all exports of a file: `import * as`, `export *`. */
const ALL = '*';

interface Import {
  /** Relative to the same folder as the importing file's name. */
  readonly from: string;
  readonly name: string;
}

interface Module {
  readonly imports: readonly Import[];
  readonly exports: readonly string[];
}

type Modules = ReadonlyMap<string, Module>;

/** The files below a folder, by their paths in it. */
export function readModules(root: string, patterns: readonly string[]): Modules {
  const paths = globSync([...patterns], { cwd: root });
  return modulesOf(new Map(paths.map((path) => [path, readFileSync(join(root, path), 'utf8')])));
}

export function modulesOf(texts: ReadonlyMap<string, string>): Modules {
  return new Map([...texts].map(([path, text]) => [path, moduleOf(path, text)]));
}

function moduleOf(path: string, text: string): Module {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest);
  const imports: Import[] = [];
  const exports: string[] = [];
  const take = (specifier: ts.Node | undefined, names: readonly string[]): void => {
    if (specifier === undefined || !ts.isStringLiteralLike(specifier) || !/^\.\.?\//.test(specifier.text))
      return;
    const from = normalize(join(dirname(path), specifier.text));
    for (const name of names.length === 0 ? [''] : names) imports.push({ from, name });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) take(node.moduleSpecifier, namesOf(node.importClause));
    if (ts.isExportDeclaration(node)) {
      const clause = node.exportClause;
      const named = clause !== undefined && ts.isNamedExports(clause) ? [...clause.elements] : [];
      exports.push(...named.map((each) => each.name.text));
      take(
        node.moduleSpecifier,
        named.length === 0 ? [ALL] : named.map((each) => (each.propertyName ?? each.name).text),
      );
    }
    if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      take(node.argument.literal, [node.qualifier?.getText(file) ?? ALL]);
    }
    if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      // What is made of it later stands somewhere in the text: a name of the file that is loaded, or none.
      take(node.arguments[0], text.match(/\w+/g) ?? []);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  exports.push(...file.statements.flatMap(exportedBy));
  return { imports, exports };
}

function namesOf(clause: ts.ImportClause | undefined): string[] {
  if (clause === undefined) return [];
  const named = clause.namedBindings;
  const names =
    named === undefined
      ? []
      : ts.isNamespaceImport(named)
        ? [ALL]
        : named.elements.map((each) => (each.propertyName ?? each.name).text);
  return clause.name === undefined ? names : ['default', ...names];
}

/** Not the default export: a tool that is given the path of a file loads it. */
function exportedBy(statement: ts.Statement): string[] {
  const modifiers = ts.canHaveModifiers(statement) ? (ts.getModifiers(statement) ?? []) : [];
  const has = (kind: ts.SyntaxKind): boolean => modifiers.some((modifier) => modifier.kind === kind);
  if (!has(ts.SyntaxKind.ExportKeyword) || has(ts.SyntaxKind.DefaultKeyword)) return [];
  if (ts.isVariableStatement(statement)) {
    return statement.declarationList.declarations.flatMap(({ name }) => boundBy(name));
  }
  const { name } = statement as ts.DeclarationStatement;
  return name !== undefined && ts.isIdentifier(name) ? [name.text] : [];
}

function boundBy(name: ts.BindingName): string[] {
  if (ts.isIdentifier(name)) return [name.text];
  return name.elements.flatMap((each) => (ts.isOmittedExpression(each) ? [] : boundBy(each.name)));
}

/** Exports that no other file imports, as `path: name`. */
export function unusedExports(modules: Modules, entries: readonly string[]): string[] {
  const used = new Set<string>();
  for (const { imports } of modules.values())
    for (const { from, name } of imports) used.add(`${from}: ${name}`);
  return [...modules].flatMap(([path, { exports }]) =>
    entries.includes(path) || used.has(`${path}: ${ALL}`)
      ? []
      : exports.map((name) => `${path}: ${name}`).filter((each) => !used.has(each)),
  );
}

/** Each circle once, as `a → b → a`, beginning with the file whose name comes first. */
export function circles(modules: Modules): string[] {
  const found = new Set<string>();
  const done = new Set<string>();
  const visit = (path: string, above: readonly string[]): void => {
    const start = above.indexOf(path);
    if (start !== -1) {
      const circle = above.slice(start);
      const first = circle.indexOf(circle.toSorted()[0] ?? path);
      const turned = [...circle.slice(first), ...circle.slice(0, first)];
      found.add([...turned, turned[0]].join(' → '));
      return;
    }
    if (done.has(path)) return;
    const next = new Set(modules.get(path)?.imports.map(({ from }) => from));
    for (const each of next) visit(each, [...above, path]);
    done.add(path);
  };
  for (const path of modules.keys()) visit(path, []);
  return [...found];
}
