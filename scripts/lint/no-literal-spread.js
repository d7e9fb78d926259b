/** Refuses `{ ...{ a, b }, c }`: it copies an object only to keep several properties on one line. */
export const noLiteralSpread = {
  meta: {
    type: 'suggestion',
    fixable: 'code',
    messages: { literal: 'Write the properties directly, without a spread of a literal.' },
  },
  create(context) {
    return {
      'ObjectExpression > SpreadElement'(node) {
        const { argument } = node;
        const isAsserted = argument.type === 'TSAsExpression' || argument.type === 'TSSatisfiesExpression';
        const literal = isAsserted ? argument.expression : argument;
        if (literal.type !== 'ObjectExpression') return;
        context.report({
          node,
          messageId: 'literal',
          fix: (fixer) => {
            const properties = context.sourceCode.getText(literal).slice(1, -1).trim().replace(/,$/, '');
            return isAsserted || properties === '' ? null : fixer.replaceText(node, properties);
          },
        });
      },
    };
  },
};
