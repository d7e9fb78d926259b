/** Refuses imports that lead back to the importing file, type imports included. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import ts from 'typescript';

const root = resolve(import.meta.dirname, '../..');
/** The imports of each file of `src`: absolute paths. Read once per run. */
let graph;

export const noCircles = {
  meta: {
    type: 'problem',
    messages: { circle: 'This import closes a circle: {{circle}}.' },
  },
  create(context) {
    const check = (node) => {
      const specifier = node.source?.value;
      if (typeof specifier !== 'string' || !specifier.startsWith('.')) return;
      const target = resolve(dirname(context.filename), specifier);
      // A module may take the type of its own exports.
      if (target === context.filename) return;
      const circle = pathBetween(target, context.filename);
      if (circle === null) return;
      const names = [context.filename, ...circle].map((file) => relative(root, file));
      context.report({ node, messageId: 'circle', data: { circle: names.join(' → ') } });
    };
    return {
      ImportDeclaration: check,
      ImportExpression: check,
      ExportNamedDeclaration: check,
      ExportAllDeclaration: check,
    };
  },
};

/** The files from `start` to `end`, both included, over the fewest imports; null if there is no such way. */
function pathBetween(start, end) {
  graph ??= readGraph();
  const cameFrom = new Map([[start, null]]);
  for (const file of cameFrom.keys()) {
    if (file === end) return pathTo(file, cameFrom);
    for (const next of graph.get(file) ?? []) {
      if (!cameFrom.has(next)) cameFrom.set(next, file);
    }
  }
  return null;
}

function pathTo(end, cameFrom) {
  const path = [];
  for (let file = end; file !== null; file = cameFrom.get(file)) path.unshift(file);
  return path;
}

function readGraph() {
  const files = readdirSync(join(root, 'src'), { recursive: true })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => join(root, 'src', file));
  return new Map(files.map((file) => [file, importsOf(file)]));
}

function importsOf(file) {
  const { importedFiles } = ts.preProcessFile(readFileSync(file, 'utf8'));
  return importedFiles
    .map(({ fileName }) => fileName)
    .filter((fileName) => fileName.startsWith('.'))
    .map((fileName) => resolve(dirname(file), fileName));
}
