/** Refuses imports between folders of `src` that the given table does not allow. */
import { dirname, relative, resolve, sep } from 'node:path';

const root = resolve(import.meta.dirname, '../../src');

export const folders = {
  meta: {
    type: 'problem',
    schema: [{ type: 'object', additionalProperties: { type: 'array', items: { type: 'string' } } }],
    messages: {
      forbidden: '{{from}} may not import from {{to}}.',
      unknown: 'eslint.config.js does not say what the folder {{from}} may import.',
    },
  },
  create(context) {
    /** For each folder, named by its path in `src`, the folders that it may import. */
    const [allowed] = context.options;
    const folderOf = (file) => {
      const path = relative(root, file).split(sep).join('/');
      const parents = Object.keys(allowed).filter((folder) => path.startsWith(`${folder}/`));
      // The deepest one: a folder within a folder may have a line of its own.
      return parents.toSorted((a, b) => b.length - a.length)[0] ?? dirname(path);
    };
    const from = folderOf(context.filename);
    // Entries, directly in `src`, put everything together.
    if (from === '.') return {};
    const check = (node) => {
      const specifier = node.source?.value;
      if (typeof specifier !== 'string' || !specifier.startsWith('.')) return;
      const target = resolve(dirname(context.filename), specifier);
      if (!target.startsWith(root + sep)) return;
      const to = folderOf(target);
      if (to === from || allowed[from]?.includes(to)) return;
      context.report({ node, messageId: 'forbidden', data: { from, to } });
    };
    return {
      Program(node) {
        if (!(from in allowed)) context.report({ node, messageId: 'unknown', data: { from } });
      },
      ImportDeclaration: check,
      ImportExpression: check,
      ExportNamedDeclaration: check,
      ExportAllDeclaration: check,
    };
  },
};
