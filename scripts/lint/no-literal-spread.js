/** Refuses `{ ...{ a, b }, c }`: it copies an object only to keep several properties on one line. */
export const noLiteralSpread = {
  meta: {
    type: 'suggestion',
    messages: { literal: 'Write the properties directly, without a spread of a literal.' },
  },
  create(context) {
    return {
      'ObjectExpression > SpreadElement'(node) {
        const { argument } = node;
        const isAsserted = argument.type === 'TSAsExpression' || argument.type === 'TSSatisfiesExpression';
        const literal = isAsserted ? argument.expression : argument;
        if (literal.type === 'ObjectExpression') context.report({ node, messageId: 'literal' });
      },
    };
  },
};
