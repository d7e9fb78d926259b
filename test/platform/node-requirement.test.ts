import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { REQUIRED_NODE, explainNodeVersion, isNodeSupported } from '../../src/platform/node-requirement.ts';

it.each<[version: string, supported: boolean]>([
  ['24.21.0', true],
  ['23.0.0', true],
  ['22.19.0', true],
  ['22.19.1', true],
  ['22.18.9', false],
  ['22.9.0', false],
  ['20.20.2', false],
  ['9.99.0', false],
  ['100.0.0', true],
  ['22.19.0-nightly20250101', true],
])('%s is supported: %s', (version, supported) => {
  expect(isNodeSupported(version)).toBe(supported);
});

it('asks for what package.json asks for', () => {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  expect(manifest).toMatchObject({ engines: { node: `>=${REQUIRED_NODE}` } });
});

it('says what was found, what is needed and what to do', () => {
  expect(explainNodeVersion('20.1.0')).toMatch(
    /needs Node\.js 22\.19 or newer, and this is 20\.1\.0[^]*Install/,
  );
});
