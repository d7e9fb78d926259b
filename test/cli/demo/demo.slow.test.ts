/** The demo as a newcomer starts it. */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import {
  eventually,
  hasTerminal,
  isAlive,
  start,
  startAtTerminal,
  temporaryFolder,
  untilPrinted,
  type RunningCommand,
} from '../harness.ts';

interface Demo extends RunningCommand {
  /** Nothing of it is left: neither a process nor a file. */
  readonly leftovers: () => string[];
  /** The process of its mirror. */
  mirror(): number;
}

function startDemo(...args: string[]): Demo {
  const folder = temporaryFolder();
  // It must not read the caller's configuration, wrong as it may be.
  const command = start({ folder, env: { TMPDIR: folder, PORT: 'wrong' } }, 'demo', ...args);
  const mirrors = new Set<number>();
  const look = (): number => {
    const { stdout } = spawnSync('ps', ['-o', 'pid=', '--ppid', String(command.pid)], { encoding: 'utf8' });
    const pid = Number(stdout.trim().split('\n')[0]);
    mirrors.add(pid);
    return pid;
  };
  return Object.assign(command, {
    mirror: look,
    leftovers: () => [...readdirSync(folder), ...[...mirrors].filter(isAlive).map((pid) => `process ${pid}`)],
  });
}

const SELLING = /the store sells/;

test.concurrent('through loss, disorder and a kill it ends equal', async () => {
  const demo = startDemo('--seconds', '10', '--products', '15', '--rate', '10');
  await untilPrinted(demo, SELLING);
  demo.mirror();
  await untilPrinted(demo, /the mirror is back, with every webhook that it had answered/);
  demo.mirror();
  const { code, stdout, stderr } = await demo.ended;
  expect(stdout).toMatch(/\nVERDICT: equal\. The mirror holds exactly what the store holds\.\n$/);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^compared +\d+ stock levels, \d+ totals and 15 products/m);
  expect(stdout).toMatch(/ s {2}lost .*Found: .* Repaired by a read/);
  expect(demo.leftovers()).toEqual([]);
});

test.concurrent('without a terminal it prints plain lines, and ends with the verdict', async () => {
  const demo = startDemo('--products', '15', '--rate', '10');
  await untilPrinted(demo, SELLING);
  // What is shown is there, at the usual address or another one.
  const pages = [...demo.stdout.matchAll(/^ {2}the (?:store|mirror) +(http:\S+)(.*)$/gm)];
  expect(pages).toHaveLength(2);
  for (const [, url = '', rest = ''] of pages) {
    expect((await fetch(url)).status).toBe(200);
    const isUsual = ['8788', '8790'].includes(new URL(url).port);
    expect(rest.includes('is in use by another program')).toBe(!isUsual);
  }
  demo.mirror();
  await untilPrinted(
    demo,
    /\d+ changes, \d+ webhooks lost on purpose, \d+ proven lost, \d+ values repaired; right now \d+ of \d+ stock levels wrong, [\d.]+ % certain$/m,
  );
  demo.signal('SIGINT');
  const { code, stdout } = await demo.ended;
  expect(code).toBe(0);
  expect(stdout).toMatch(/\nVERDICT: equal\./);
  // eslint-disable-next-line no-control-regex -- it is the control character that must not be there.
  expect(stdout).not.toMatch(/[\u001B\r]/);
});

test
  .runIf(hasTerminal)
  .concurrent(
    'at a terminal a webhook lost by hand after the verdict is repaired',
    { timeout: 180_000 },
    async () => {
      const folder = temporaryFolder();
      const demo = startAtTerminal({ folder, env: { TMPDIR: folder } }, 'demo', '--products', '15');
      const [, page = ''] = await untilPrinted(demo, /the store +\S*?(http:[\w:/.]+)/);
      await untilPrinted(demo, /VERDICT: equal[^]*Lose a webhook yourself/);
      const answer = await fetch(new URL('/sandbox/lose-webhook', page), {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{}',
      });
      expect(answer.status).toBe(200);
      await untilPrinted(demo, /Ctrl-C ends the demo[^]*lost[^]*by a read, [\d.]+ s later/);
      demo.type('\u0003');
      expect(await demo.ended).toMatchObject({ code: 0 });
      expect(readdirSync(folder)).toEqual([]);
    },
  );

test.concurrent('Ctrl-C ends the trouble, and the verdict follows', async () => {
  const demo = startDemo('--products', '6', '--rate', '20');
  await untilPrinted(demo, /webhooks lost on purpose/);
  demo.mirror();
  demo.signal('SIGINT');
  const { code, stdout } = await demo.ended;
  expect(stdout).toContain('Ctrl-C: the store stops selling');
  expect(stdout).toMatch(/\nVERDICT: equal\./);
  expect(code).toBe(0);
  expect(demo.leftovers()).toEqual([]);
});

test.concurrent('a mirror that dies ends it with the reason', async () => {
  const demo = startDemo('--products', '5');
  await untilPrinted(demo, SELLING);
  process.kill(demo.mirror(), 'SIGKILL');
  const { code, stdout, stderr } = await demo.ended;
  expect(code).toBe(1);
  expect(stderr).toBe('error: the mirror ended unexpectedly (SIGKILL)\n');
  expect(stdout).not.toContain('VERDICT');
  expect(demo.leftovers()).toEqual([]);
});

test.concurrent.each([
  ['Ctrl-C twice', ['SIGINT', 'SIGINT'], 130],
  ['SIGTERM', ['SIGTERM'], 1],
] as const)('%s ends it at once, and nothing is left', async (_, signals, code) => {
  const demo = startDemo('--products', '5');
  await untilPrinted(demo, SELLING);
  demo.mirror();
  for (const signal of signals) {
    demo.signal(signal);
    if (signal === 'SIGINT' && signals.length > 1) await untilPrinted(demo, /Ctrl-C: the store stops/);
  }
  expect((await demo.ended).code).toBe(code);
  await eventually(() => demo.leftovers().length === 0, { what: 'nothing is left' });
});
