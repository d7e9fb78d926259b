import { inspect } from 'node:util';
import { expect, it } from 'vitest';
import { Secret } from '../../src/platform/secret.ts';

const secret = new Secret('hunter2');

it.each<[string, string]>([
  ['JSON', JSON.stringify({ secret })],
  ['inspect', inspect({ nested: { secret } }, { depth: null, showHidden: true })],
  ['its keys', Object.entries(secret).join()],
])('%s does not show the value', (_, text) => {
  expect(text).not.toContain('hunter2');
});

it('reveals its value when asked', () => {
  expect(JSON.stringify(secret)).toBe('"[secret]"');
  expect(secret.reveal()).toBe('hunter2');
});
