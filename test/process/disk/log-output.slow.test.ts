/** Whatever becomes of the log's output, every role answers and stops (docs/architecture.md#log). */
import { spawn, spawnSync, type ChildProcess, type StdioOptions } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, constants, createReadStream, openSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { signBody } from '../../../src/store-api/signature.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import { freePort } from '../../shared/free-port.ts';
import {
  environmentFor,
  eventually,
  startMirror,
  startService,
  temporaryFolder,
  type Environment,
  type Owner,
} from '../harness.ts';

const MAIN = join(import.meta.dirname, '../../../src/main.ts');
const ROLES = ['both', 'receiver', 'mirror'] as const;
type Role = (typeof ROLES)[number];

const REFUSED = 'requests were refused';
const WARNING = 'a-warning-of-Node';
/** Every thread warns, as Node itself may at any time. */
const WARNS = inEveryThread(`setInterval(() => process.emitWarning('${WARNING}'), 50).unref();`);
/** More than the log keeps for later. */
const WARNS_MUCH = inEveryThread(`
  let ticks = 30;
  const timer = setInterval(() => {
    for (let n = 0; n < 50; n += 1) process.emitWarning('${WARNING}' + 'x'.repeat(1_000));
    ticks -= 1;
    if (ticks === 0) clearInterval(timer);
  }, 20);`);

function inEveryThread(script: string): Environment {
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(script)}` };
}

/** Runs a command on a terminal of its own, and types there what it reads. */
const TERMINAL = 'import pty, sys; pty.spawn(sys.argv[1:])';
const HAS_PYTHON = spawnSync('python3', ['-c', 'import pty'], { stdio: 'ignore' }).status === 0;
const [CTRL_C, CTRL_Q, CTRL_S] = ['\x03', '\x11', '\x13'];

/** Only a hang takes so long: a busy machine may take longer than the second that the store waits. */
const HANGS_MS = 20_000;
const ROUNDS = 20;

interface Output {
  readonly stdio: StdioOptions;
  /** Closes the test's copies of what the process has inherited. */
  close(): void;
}

/** Without room from the first byte on, because it is full and nobody reads it. */
function unreadPipe(t: Owner): Output & { readonly path: string } {
  const path = join(temporaryFolder(t), 'pipe');
  spawnSync('mkfifo', [path]);
  const held = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  try {
    for (const filling = Buffer.alloc(1_024, '\n'); ;) writeSync(held, filling);
  } catch {
    // Full.
  }
  const end = openSync(path, 'w');
  t.onTestFinished(() => closeSync(held));
  return { path, stdio: ['ignore', end, end], close: () => closeSync(end) };
}

function fullDisk(): Output {
  const full = openSync('/dev/full', 'w');
  return { stdio: ['ignore', full, full], close: () => closeSync(full) };
}

const OUTPUTS: Readonly<Record<string, (t: Owner) => Output>> = {
  'is on a full disk': fullDisk,
  'has lost its reader': (t) => {
    const path = join(temporaryFolder(t), 'pipe');
    spawnSync('mkfifo', [path]);
    const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const end = openSync(path, 'w');
    closeSync(reader);
    return { stdio: ['ignore', end, end], close: () => closeSync(end) };
  },
  'is not read': unreadPipe,
};

class Service {
  readonly child: ChildProcess;
  readonly #webhookUrl: string;
  readonly #opsUrl: string;
  readonly #role: Role;
  readonly #secret: string;
  readonly ended: Promise<readonly unknown[]>;
  #hasEnded = false;

  constructor(child: ChildProcess, { role, env }: Prepared) {
    this.child = child;
    this.#role = role;
    this.#secret = env['SERVICE_WEBHOOK_SECRET'] ?? '';
    this.#webhookUrl = `http://127.0.0.1:${env['PORT']}/webhooks`;
    this.#opsUrl = `http://127.0.0.1:${env['OPS_PORT']}/metrics`;
    this.ended = once(child, 'exit');
    child.once('exit', () => (this.#hasEnded = true));
  }

  async untilUp(): Promise<void> {
    await eventually(
      async () => {
        if (this.#hasEnded) return true;
        return (await this.#ops()) && (this.#role === 'mirror' || (await this.webhook(randomUUID())) === 204);
      },
      { what: 'the service answers' },
    );
    expect(this.#hasEnded).toBe(false);
  }

  /** The store's webhooks are answered, a stranger's are refused (which the log tells), and so are private requests. */
  async answers(): Promise<void> {
    for (let n = 0; n < ROUNDS; n += 1) {
      // A busy machine may commit it too late for its answer.
      if (this.#role !== 'mirror') expect([204, 503]).toContain(await this.webhook(randomUUID()));
      await this.refuses();
      expect(await this.#ops()).toBe(true);
    }
    expect(this.#hasEnded).toBe(false);
  }

  async refuses(): Promise<void> {
    if (this.#role !== 'mirror') expect(await this.#post('{}', {})).toBe(401);
  }

  async webhook(id: string): Promise<number> {
    const body = `{"request_id":"${id}","event_type":"stock_available_updated","request_time":1,"data":{"items":[]}}`;
    return this.#post(body, { 'x-service-signature': signBody(this.#secret, Buffer.from(body)) });
  }

  async #post(body: string, headers: Record<string, string>): Promise<number> {
    const signal = AbortSignal.timeout(HANGS_MS);
    return (await fetch(this.#webhookUrl, { method: 'POST', body, headers, signal })).status;
  }

  async #ops(): Promise<boolean> {
    const answer = await fetch(this.#opsUrl, { signal: AbortSignal.timeout(HANGS_MS) });
    await answer.arrayBuffer();
    return answer.status === 200;
  }
}

interface Prepared {
  readonly role: Role;
  readonly folder: string;
  readonly env: Environment;
}

async function prepare(t: Owner, role: Role, env: Environment = {}): Promise<Prepared> {
  const sandbox: Sandbox = await startService(t, { ackTimeoutMs: HANGS_MS });
  const folder = temporaryFolder(t);
  // A mirror reads what a receiver has written.
  if (role === 'mirror') await startMirror(t, sandbox, { folder, env: { ROLE: 'receiver' } });
  const ports = { PORT: String(await freePort()), OPS_PORT: String(await freePort()) };
  return {
    role,
    folder,
    env: {
      PATH: process.env['PATH'] ?? '',
      ...environmentFor(sandbox, join(folder, 'mirror.db')),
      ...ports,
      ROLE: role,
      ...WARNS,
      ...env,
    },
  };
}

function start(t: Owner, prepared: Prepared, output: Output): Service {
  const { folder, env } = prepared;
  const child = spawn(process.execPath, [MAIN], { cwd: folder, env, stdio: output.stdio });
  output.close();
  t.onTestFinished(() => void child.kill('SIGKILL'));
  return new Service(child, prepared);
}

test.concurrent('exits with 2 for wrong settings while its output is on a full disk', async (t) => {
  const prepared = await prepare(t, 'both', { OPS_PORT: 'wrong' });
  const { ended } = start(t, prepared, fullDisk());
  expect(await ended).toEqual([2, null]);
});

test.concurrent('ends during its start while its output is not read', async (t) => {
  const service = start(t, await prepare(t, 'both'), unreadPipe(t));
  // The receiver answers before the rest has started.
  await eventually(async () => (await service.webhook(randomUUID())) === 204, {
    what: 'a webhook is answered',
  });
  service.child.kill('SIGTERM');
  await service.ended;
});

for (const role of ROLES) {
  for (const [name, open] of Object.entries(OUTPUTS)) {
    test.concurrent(`${role}: answers and stops while its output ${name}`, async (t) => {
      const service = start(t, await prepare(t, role), open(t));
      await service.untilUp();
      await service.answers();
      service.child.kill('SIGTERM');
      await service.ended;
    });
  }

  test.concurrent(
    `${role}: writes whole lines, and says how many it dropped, once a slow reader reads`,
    async (t) => {
      const output = unreadPipe(t);
      const service = start(t, await prepare(t, role, WARNS_MUCH), output);
      await service.untilUp();
      await service.answers();

      // Takes less at a time than is written at a time, so that lines are written in parts.
      const reader = createReadStream(output.path, { highWaterMark: 700 });
      t.onTestFinished(() => void reader.destroy());
      // The refusals until now may be among the dropped lines.
      const strangers = setInterval(() => void service.refuses().catch(() => undefined), 200);
      t.onTestFinished(() => clearInterval(strangers));
      const missing = new Set([WARNING, 'lines were dropped', ...(role === 'mirror' ? [] : [REFUSED])]);
      for await (const line of createInterface({ input: reader })) {
        if (line !== '') expect(() => JSON.parse(line) as unknown).not.toThrow();
        for (const text of missing) if (line.includes(text)) missing.delete(text);
        if (missing.size === 0) break;
      }
    },
  );

  test
    .skipIf(!HAS_PYTHON)
    .concurrent(`${role}: answers while its terminal is stopped, and is readable there`, async (t) => {
      const { env, ...prepared } = await prepare(t, role);
      const terminal = spawn('python3', ['-c', TERMINAL, process.execPath, MAIN], {
        cwd: prepared.folder,
        env,
      });
      t.onTestFinished(() => void terminal.kill('SIGKILL'));
      let shown = '';
      terminal.stdout.setEncoding('utf8').on('data', (text: string) => (shown += text));
      const service = new Service(terminal, { env, ...prepared });
      await service.untilUp();
      terminal.stdin.write(CTRL_S);
      await service.answers();
      terminal.stdin.write(CTRL_Q);
      await eventually(() => role === 'mirror' || shown.includes(REFUSED), {
        what: 'a refusal is shown',
      });
      await eventually(() => shown.includes(WARNING), { what: 'a warning is shown' });
      terminal.stdin.write(CTRL_C);
      await service.ended;
      const lines = stripVTControlCharacters(shown).replace('^C', '').split('\r\n');
      expect(
        lines.filter((line) => !/^(\d\d:\d\d:\d\d [A-Z]{4,5} | {4}at |\w*Warning: |$)/.test(line)),
      ).toEqual([]);
    });
}
