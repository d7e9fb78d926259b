import { expect, test } from 'vitest';
import { plainVariants } from '../process/harness.ts';
import {
  eventually,
  hasTerminal,
  homeOf,
  startAtTerminal,
  startService,
  untilPrinted,
  withEnv,
} from './harness.ts';

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

test.runIf(hasTerminal)('answers deliveries while the terminal is paused (Ctrl-S)', async () => {
  const sandbox = await startService({ ackTimeoutMs: 30_000 });
  const home = withEnv(await homeOf(sandbox), { LOG_LEVEL: 'debug' });
  const server = startAtTerminal(home, 'serve');
  const listening = await untilPrinted(server, /webhooks[^"]+"(http[^"]+)"/);
  const url = listening[1] ?? '';
  server.type('\u0013');
  expect((await fetch(url, { method: 'POST', signal: AbortSignal.timeout(30_000) })).status).toBe(401);
  sandbox.webhookUrl = url;
  sandbox.operations.add({ ...plainVariants(sandbox, 1)[0], by: 1 });
  await sandbox.network.idle();
  expect(sandbox.deliveries.records.at(-1)).toMatchObject({ status: 204 });
  server.type('\u0011');
  await eventually(() => server.stdout.includes('were refused'), { what: 'the log continues' });
});
