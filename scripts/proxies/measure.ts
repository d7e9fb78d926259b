/** One proxy, one or more receivers, each fault once under a steady load. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../test/shared/free-port.ts';
import { Load, type Sent } from './load.ts';
import { startProxy, WEBHOOK_HOST, type Certificates, type ProxyName } from './proxy.ts';
import { FAULTS, Receiver, type Fault } from './receivers.ts';

export interface MeasureOptions {
  readonly program: readonly string[];
  readonly proxy: ProxyName;
  readonly configuration: string;
  readonly folder: string;
  readonly certificates: Certificates;
  readonly receivers: number;
  readonly keepSocket: boolean;
  readonly restartAfterMs: number;
  readonly perSecond: number;
  /** From one fault to the next. */
  readonly faultMs: number;
}

interface Phase {
  readonly name: Fault | 'undisturbed';
  readonly fromMs: number;
}

export interface PhaseResult {
  readonly name: string;
  readonly sent: number;
  readonly answered: number;
  /** Without a `204`, but on disk: the store does not know, the mirror does. */
  readonly onlyStored: number;
  readonly lost: number;
  /** From the first to the last webhook without a `204`. */
  readonly troubleMs: number;
  readonly slowestMs: number;
  /** Counts of the webhooks without a `204`. */
  readonly outcomes: Readonly<Record<string, number>>;
}

export interface Measured {
  readonly phases: readonly PhaseResult[];
  /** Answered `204`, and in no inbox. */
  readonly answeredAndLost: number;
  /** `401` to a webhook that was signed correctly: its body was changed on the way. */
  readonly refusedSignatures: number;
}

const UNDISTURBED_MS = 3_000;

export async function measure(options: MeasureOptions): Promise<Measured> {
  const { program, proxy: name, configuration, folder, certificates, keepSocket, restartAfterMs } = options;
  const secret = randomBytes(16).toString('hex');
  const receivers: Receiver[] = [];
  for (let n = 1; n <= options.receivers; n += 1) {
    const home = join(folder, `receiver-${n}`);
    receivers.push(await Receiver.start({ program, folder: home, secret, keepSocket, restartAfterMs }));
  }
  const port = await freePort();
  const ports = receivers.map((receiver) => receiver.port);
  const proxy = await startProxy({
    name,
    configuration,
    folder: join(folder, 'proxy'),
    port,
    plainPort: await freePort(),
    certificates,
    ports,
    // Nothing asks it.
    opsPort: 1,
  });
  const { ca } = certificates;
  const load = new Load({ port, host: WEBHOOK_HOST, ca, secret, perSecond: options.perSecond });
  const phases: Phase[] = [{ name: 'undisturbed', fromMs: performance.now() }];
  await sleep(UNDISTURBED_MS);
  for (const [n, fault] of FAULTS.entries()) {
    const victim = receivers[n % receivers.length];
    await victim?.untilHealthy();
    // Those that are under way.
    phases.push({ name: fault, fromMs: performance.now() - 50 });
    await Promise.all([victim?.suffer(fault), sleep(options.faultMs)]);
  }
  const sent = await load.end();
  const stored = new Set(receivers.flatMap((receiver) => receiver.bodies()));
  await proxy.end();
  for (const receiver of receivers) await receiver.end();
  return {
    phases: phases.map((phase, n) => {
      const untilMs = phases[n + 1]?.fromMs ?? Infinity;
      const during = sent.filter(({ sentAtMs }) => sentAtMs >= phase.fromMs && sentAtMs < untilMs);
      return resultOf(phase, during, stored);
    }),
    answeredAndLost: sent.filter(({ outcome, body }) => outcome === '204' && !stored.has(body)).length,
    refusedSignatures: sent.filter(({ outcome }) => outcome === '401').length,
  };
}

function resultOf({ name }: Phase, sent: readonly Sent[], stored: ReadonlySet<string>): PhaseResult {
  const unanswered = sent.filter(({ outcome }) => outcome !== '204');
  const outcomes: Record<string, number> = {};
  for (const { outcome } of unanswered) outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  const times = unanswered.map(({ sentAtMs }) => sentAtMs);
  return {
    name,
    sent: sent.length,
    answered: sent.length - unanswered.length,
    onlyStored: unanswered.filter(({ body }) => stored.has(body)).length,
    lost: unanswered.filter(({ body }) => !stored.has(body)).length,
    troubleMs: times.length === 0 ? 0 : Math.round(Math.max(...times) - Math.min(...times)),
    slowestMs: Math.round(Math.max(0, ...sent.map(({ ms }) => ms))),
    outcomes,
  };
}

export function tableOf({ phases, answeredAndLost, refusedSignatures }: Measured): string {
  const lines = phases.map(({ name, sent, answered, onlyStored, lost, troubleMs, slowestMs, outcomes }) => {
    const why = Object.entries(outcomes).map(([outcome, count]) => `${outcome}: ${count}`);
    const fates = `${sent} sent, ${answered} answered, ${onlyStored} only stored, ${lost} lost within ${troubleMs} ms`;
    return `  ${name.padEnd(12)} ${fates}; slowest ${slowestMs} ms; ${why.join(', ')}`;
  });
  return [...lines, `  answered and lost: ${answeredAndLost}; signatures refused: ${refusedSignatures}`].join(
    '\n',
  );
}
