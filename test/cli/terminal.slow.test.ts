import { expect, test } from 'vitest';
import { plainVariants } from '../process/harness.ts';
import {
  eventually,
  hasTerminal,
  homeOf,
  startAtTerminal,
  startServer,
  startService,
  untilPrinted,
  untilQuiet,
  withEnv,
} from './harness.ts';

// eslint-disable-next-line no-control-regex -- it is the control character that is looked for.
const COLOUR = /\u001B\[\d+m/;

test.runIf(hasTerminal)(
  'a terminal shows a bar with percent, rate and time left; NO_COLOR is respected',
  async () => {
    const sandbox = await startService({ products: 20 });
    const home = await homeOf(sandbox);
    await startServer(home, sandbox);
    await untilQuiet(home);
    const [first, last] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let details = 0;
    sandbox.reads.intercept = async (endpoint) => {
      if (endpoint !== '/v1/product/detail') return undefined;
      details += 1;
      await (details === 20 ? last : first).promise;
      return undefined;
    };
    const command = startAtTerminal(home, 'resync');
    await untilPrinted(command, /0% {2}0\/20 products/);
    first.resolve();
    await untilPrinted(command, /95% {2}19\/20 products, [\d.]+\/s, \d+ s left/);
    last.resolve();
    const coloured = await command.ended;
    expect(coloured.code).toBe(0);
    expect(coloured.stdout).toMatch(/[█░]{24}\S* 95% {2}19\/20 products, /);
    expect(coloured.stdout).toMatch(/█{24}\S* 100% {2}20\/20 products, [\d.]+\/s/);
    expect(coloured.stdout).toMatch(/run \d+ done: 20 products read, 0 differences corrected\r\n$/);
    expect(coloured.stdout).toMatch(COLOUR);

    const plain = await startAtTerminal({ ...home, env: { ...home.env, NO_COLOR: '1' } }, 'resync').ended;
    expect(plain.stdout).toMatch(/\d+% {2}\d+\/20 products/);
    expect(plain.stdout).not.toMatch(COLOUR);
  },
);

test.runIf(hasTerminal)('answers deliveries while the terminal is paused (Ctrl-S)', async () => {
  const sandbox = await startService({ ackTimeoutMs: 30_000 });
  const home = withEnv(await homeOf(sandbox), { LOG_LEVEL: 'debug' });
  const server = startAtTerminal(home, 'serve');
  const listening = await untilPrinted(server, /webhooks[^"]+"([^"]+)"/);
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
