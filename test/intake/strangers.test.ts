/** Strangers: one connection takes no more than its share, and an address that goes on is refused; a proxy is not harmed. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { keyOf, Strangers } from '../../src/intake/strangers.ts';
import { signBody } from '../../src/store-api/signature.ts';
import { deliverBeside, figuresOf } from '../hostile/beside.ts';
import { eventually } from '../process/wait.ts';
import { delivery, item, values } from '../mirror/mirror-file.ts';
import { SECRET, startIntake } from './intake.ts';

const FLOOD_MS = 2_000;
/** The sender shares its thread with the listener, and the machine with other tests. Without bounds it was seconds. */
const PROMPT_MS = 500;

const GET = 'GET / HTTP/1.1\r\n\r\n';
const HEALTH = 'GET /healthz HTTP/1.1\r\n\r\n';
const UNSIGNED = 'POST /webhooks HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}';

let n = 0;
function signed(): string {
  n += 1;
  const body = Buffer.from(delivery(`piped-${n}`, item({ id: String(90_000 + n) }))).toString();
  const signature = signBody(SECRET, Buffer.from(body));
  return `POST /webhooks HTTP/1.1\r\nX-Service-Signature: ${signature}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

/** A connection, and the statuses that came back on it so far. */
function wire(port: number) {
  const socket = connect(port, '127.0.0.1').setNoDelay(true);
  onTestFinished(() => void socket.destroy());
  let text = '';
  socket
    .on('error', () => undefined)
    .setEncoding('latin1')
    .on('data', (more: string) => (text += more));
  return {
    socket,
    write: (bytes: string) => void socket.write(bytes),
    text: () => text,
    statuses: () => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status)),
    ended: once(socket, 'end'),
  };
}

describe('a connection', () => {
  test.each([
    ['another path', GET, 404],
    ['an unsigned request', UNSIGNED, 401],
  ])(
    'that begins with %s is closed with its first answer, however much follows',
    async (_, request, status) => {
      const { port } = await startIntake();
      const { write, statuses, text, ended } = wire(port);
      write(request.repeat(5_000));
      await ended;
      expect(statuses()).toEqual([status]);
      expect(text()).toMatch(/connection: close/i);
    },
  );

  test('that asks for the health again and again at once is closed; every few seconds, it is kept', async () => {
    const { port } = await startIntake();
    const balancer = wire(port);
    for (let asked = 1; asked <= 3; asked += 1) {
      balancer.write(HEALTH);
      await eventually(() => balancer.statuses().length === asked, { what: 'the health' });
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
    expect(balancer.text()).not.toMatch(/connection: close/i);
    const { write, statuses, ended } = wire(port);
    write(HEALTH.repeat(5_000));
    await ended;
    // A slow commit may lie between two of them.
    expect(statuses().length).toBeGreaterThan(1);
    expect(statuses().length).toBeLessThan(10);
  });

  test('that has delivered is kept over requests of others; not when there are many and no delivery between them', async () => {
    const { port } = await startIntake();
    const proxy = wire(port);
    const ask = async (request: string): Promise<void> => {
      const before = proxy.statuses().length;
      proxy.write(request);
      await eventually(() => proxy.statuses().length > before, { what: 'an answer' });
    };
    for (let round = 0; round < 4; round += 1) {
      await ask(signed());
      for (let k = 0; k < 6; k += 1) await ask(k % 2 === 0 ? GET : UNSIGNED);
    }
    expect(proxy.text()).not.toMatch(/connection: close/i);
    proxy.write(GET.repeat(40));
    await proxy.ended;
    expect(proxy.statuses()).toHaveLength(28 + 11);
  });

  test('with many signed deliveries behind one another gets them all answered, in order', async () => {
    const { port, db } = await startIntake();
    const sender = wire(port);
    sender.write(Array.from({ length: 300 }, signed).join(''));
    await eventually(() => sender.statuses().length === 300, { what: 'all are answered' });
    expect(new Set(sender.statuses())).toEqual(new Set([204]));
    expect(values(db, 'SELECT count(*) FROM log')).toEqual([300]);
  });

  test('that closes its half behind its deliveries gets them all answered', async () => {
    const { port } = await startIntake();
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    let text = '';
    socket.setEncoding('latin1').on('data', (more: string) => (text += more));
    socket.end(Array.from({ length: 50 }, signed).join(''));
    await once(socket, 'end');
    socket.end();
    expect(text.match(/HTTP\/1\.1 204/g)).toHaveLength(50);
  });
});

function flood(port: number, kind: string, from: string, ms = FLOOD_MS): Promise<string> {
  const path = fileURLToPath(new URL('../hostile/fixtures/pipelined.ts', import.meta.url));
  const args = [port, ms, kind, 4_000, from].map(String);
  const child: ChildProcess = spawn(process.execPath, [path, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const chunks: Buffer[] = [];
  child.stdout?.on('data', (chunk: Buffer) => chunks.push(chunk));
  return once(child, 'close').then(() => Buffer.concat(chunks).toString().trim());
}

describe('requests behind one another on one connection, 4 Mbit/s', () => {
  for (const kind of ['get', 'health', 'unsigned', 'signed']) {
    test(
      `${kind}: 50 deliveries a second are answered beside them`,
      { retry: 2, timeout: 40_000 },
      async (t) => {
        const { port } = await startIntake();
        const over = flood(port, kind, '127.0.0.2');
        const sent = await deliverBeside(over, { port, secret: SECRET, perSecond: 50 });
        await t.annotate(`${figuresOf(sent)}; flood: ${await over}`);
        expect(sent.filter(({ status }) => status !== 204)).toEqual([]);
        expect(Math.max(...sent.map(({ tookMs }) => tookMs))).toBeLessThan(PROMPT_MS);
      },
    );
  }
});

describe('an address', () => {
  function strangers() {
    let nowMs = 0;
    const said: object[] = [];
    let turnedAway = 0;
    const all = new Strangers({
      elapsed: () => nowMs,
      log: { warn: (fields: object) => void said.push(fields) } as never,
      onTurnedAway: () => (turnedAway += 1),
    });
    const from = (remoteAddress: string): Socket => ({ remoteAddress, once: () => undefined }) as never;
    return {
      all,
      from,
      said,
      turnedAway: () => turnedAway,
      pass: (ms: number) => void (nowMs += ms),
      stray: (address: string, times: number): void => {
        for (let k = 0; k < times; k += 1) all.strayed(from(address));
      },
    };
  }

  test('that goes on is refused for seconds, said in few words, and its deliveries count as lost', () => {
    const { all, from, stray, pass, said, turnedAway } = strangers();
    stray('203.0.113.9', 999);
    expect(all.opens(from('203.0.113.9'))).toBe(true);
    stray('203.0.113.9', 1);
    expect(all.opens(from('203.0.113.9'))).toBe(false);
    expect(all.opens(from('203.0.113.10'))).toBe(true);
    expect(turnedAway()).toBe(1);
    pass(9_000);
    for (let k = 0; k < 1_000; k += 1) expect(all.opens(from('203.0.113.9'))).toBe(false);
    expect(said).toHaveLength(1);
    // Knocking in vain makes it no longer.
    pass(1_001);
    expect(all.opens(from('203.0.113.9'))).toBe(true);
  });

  test('that sends as slowly as a person is never refused', () => {
    const { all, from, stray, pass } = strangers();
    for (let k = 0; k < 10_000; k += 1) {
      stray('203.0.113.9', 1);
      pass(25);
    }
    expect(all.opens(from('203.0.113.9'))).toBe(true);
  });

  test('that a signed delivery came from lately is never refused: it may be a proxy', () => {
    const { all, from, stray, pass } = strangers();
    stray('203.0.113.9', 2_000);
    all.delivered(from('203.0.113.9'));
    stray('203.0.113.9', 2_000);
    expect(all.opens(from('203.0.113.9'))).toBe(true);
    pass(8 * 24 * 60 * 60_000);
    stray('203.0.113.9', 2_000);
    expect(all.opens(from('203.0.113.9'))).toBe(false);
  });

  test.each([
    '127.0.0.1',
    '::1',
    '10.1.2.3',
    '::ffff:172.20.0.5',
    '192.168.1.1',
    'fd00::1',
    'fe80::1%eth0',
    '100.64.9.9',
  ])('%s is near, as a proxy is, and never refused', (address) => {
    const { all, from, stray } = strangers();
    stray(address, 5_000);
    expect(all.opens(from(address))).toBe(true);
  });

  test.each([
    ['203.0.113.9', '203.0.113.9'],
    ['::ffff:203.0.113.9', '203.0.113.9'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8::5:6', '2001:db8:0:0::/64'],
    ['2001:db8:1:2::', '2001:db8:1:2::/64'],
  ])('%s counts as %s', (address, key) => {
    expect(keyOf(address)).toBe(key);
  });

  test('is forgotten when very many others came since', () => {
    const { all, from, stray } = strangers();
    stray('203.0.113.9', 2_000);
    for (let k = 0; k < 5_000; k += 1) stray(`198.51.${k >> 8}.${k & 255}`, 1);
    expect(all.opens(from('203.0.113.9'))).toBe(true);
  });
});
