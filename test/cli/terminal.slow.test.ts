import { expect, test } from 'vitest';
import { hasTerminal, homeOf, startAtTerminal, startService, withEnv } from './harness.ts';

// eslint-disable-next-line no-control-regex -- it is the control character that is looked for.
const COLOUR = /\u001B\[\d+m/;

test.runIf(hasTerminal)('colours at a terminal, unless NO_COLOR is set', async () => {
  const home = await homeOf(await startService());
  expect((await startAtTerminal(home, 'doctor').ended).stdout).toMatch(COLOUR);
  const plain = withEnv(home, { NO_COLOR: '1' });
  const { stdout } = await startAtTerminal(plain, 'doctor').ended;
  expect(stdout).toContain('ok');
  expect(stdout).not.toMatch(COLOUR);
});
