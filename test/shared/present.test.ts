import { expect, test } from 'vitest';
import { present } from './present.ts';

test.each([0, '', false])('%j is there', (value) => {
  expect(present(value)).toBe(value);
});

test.each([undefined, null])('where %s is found, the failure shows the line that wanted more', (value) => {
  const wantsIt = () => present(value);
  const error = (() => {
    try {
      return wantsIt();
    } catch (thrown) {
      return thrown as Error;
    }
  })();
  expect(error.message).toContain(String(value));
  expect(error.stack?.split('\n')[1]).toContain('wantsIt');
});
