/** Rules of this repository for ESLint. */
import { checkedRows } from './checked-rows.js';
import { folders } from './folders.js';
import { noCircles } from './no-circles.js';
import { noLiteralSpread } from './no-literal-spread.js';

export const local = {
  meta: { name: 'local' },
  rules: {
    'checked-rows': checkedRows,
    folders,
    'no-circles': noCircles,
    'no-literal-spread': noLiteralSpread,
  },
};
