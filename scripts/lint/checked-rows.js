/** Refuses to assert the type of a statement's rows, unless they are values of one column. */
export const checkedRows = {
  meta: {
    type: 'problem',
    messages: {
      asserted: 'Use prepareRows, which checks the columns, or pluck() for one column.',
    },
  },
  create(context) {
    const { program, getTypeAtLocation } = context.sourceCode.parserServices;
    return {
      'CallExpression[callee.property.name="prepare"], CallExpression[callee.name="prepared"]'(node) {
        const { type: parent, property } = node.parent;
        if (parent === 'MemberExpression' && property.name === 'pluck') return;
        const type = getTypeAtLocation(node);
        if (type.symbol?.name !== 'Statement') return;
        const [, row] = program.getTypeChecker().getTypeArguments(type);
        if (row.intrinsicName !== 'unknown') context.report({ node, messageId: 'asserted' });
      },
    };
  },
};
