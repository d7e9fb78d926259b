/** The demo as a newcomer starts it. */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
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
  const demo = startDemo('--seconds', '10', '--products', '15', '--rate', '10', '--verbose');
  await untilPrinted(demo, SELLING);
  demo.mirror();
  await untilPrinted(demo, /the mirror is back, with every webhook that it had answered/);
  demo.mirror();
  const { code, stdout, stderr } = await demo.ended;
  expect(stdout).toMatch(/\nVERDICT: equal\. The mirror holds exactly what the store holds\.\n$/);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^compared +\d+ stock levels, \d+ totals and 15 products/m);
  expect(stdout).toMatch(/^ +[\d.]+ s {2}missed {5}.+: -?\d+ → -?\d+.*, the mirror does not answer$/m);
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
    /\d+ changes, \d+ webhooks lost on purpose, \d+ proven lost, \d+ figures repaired; right now \d+ of \d+ stock levels wrong, [\d.]+ % certain$/m,
  );
  demo.signal('SIGINT');
  const { code, stdout } = await demo.ended;
  expect(code).toBe(0);
  expect(stdout).toMatch(/\nVERDICT: equal\./);
  // eslint-disable-next-line no-control-regex -- it is the control character that must not be there.
  expect(stdout).not.toMatch(/[\u001B\r]/);
  expect(stdout).not.toMatch(/ s {2}(gap|missed|doubled|late) /);
});

test.concurrent(
  'without a terminal it goes on after the verdict while its page is open; Ctrl-C ends it',
  { timeout: 180_000 },
  async () => {
    const demo = startDemo('--products', '6');
    const [, page = ''] = await untilPrinted(demo, /the store +(http:\S+)/);
    demo.mirror();
    const looking = setInterval(() => void fetch(page).catch(() => undefined), 1_000);
    onTestFinished(() => clearInterval(looking));
    await untilPrinted(demo, /\nVERDICT: equal\.[^]*The demo ends when the page is closed/);
    demo.signal('SIGINT');
    expect((await demo.ended).code).toBe(0);
  },
);

test
  .runIf(hasTerminal)
  .concurrent(
    'at a terminal a board shows how it stands; after the verdict a webhook lost by hand is repaired',
    { timeout: 180_000 },
    async () => {
      const folder = temporaryFolder();
      const demo = startAtTerminal({ folder, env: { TMPDIR: folder } }, 'demo', '--products', '15');
      const [, page = ''] = await untilPrinted(demo, /the store +\S*?(http:[\w:/.]+)/);
      await untilPrinted(demo, /VERDICT: equal[^]*Lose a webhook yourself/);
      const board = plainly(demo.stdout)
        .split('\n')
        .map((line) => line.trim());
      for (const name of [
        'changes',
        'lost on purpose',
        'proven lost',
        'repaired',
        'wrong right now',
        'certain',
      ])
        expect(board.some((line) => line.startsWith(`${name} `))).toBe(true);
      const answer = await fetch(new URL('/sandbox/lose-webhook', page), {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{}',
      });
      expect(answer.status).toBe(200);
      await untilPrinted(demo, /never arrives[^]*so a webhook is missing[^]*a read replaced it/);
      demo.type('\u0003');
      expect(await demo.ended).toMatchObject({ code: 0 });
      expect(readdirSync(folder)).toEqual([]);
    },
  );

function plainly(printed: string): string {
  return stripVTControlCharacters(printed).replaceAll('\r', '');
}

test.concurrent('Ctrl-C ends the trouble, and the verdict follows', async () => {
  const demo = startDemo('--products', '6', '--rate', '20', '--verbose');
  await untilPrinted(demo, /\n.* (late|lost|doubled|gap) /);
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
