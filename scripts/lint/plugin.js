/** Rules of this repository for ESLint. */
import { noCircles } from './no-circles.js';
import { noLiteralSpread } from './no-literal-spread.js';

export const local = {
  meta: { name: 'local' },
  rules: {
    'no-circles': noCircles,
    'no-literal-spread': noLiteralSpread,
  },
};
