/** Several processes of a deployment in one, over real files, threads and sockets; what they share is in memory. */
import { join } from 'node:path';
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import type { RunningService } from '../../src/app/compose.ts';
import { REAL_SHARED, startShared } from '../../src/app/shared.ts';
import { startSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { sharedConfig } from '../app/shared-config.ts';
import { temporaryFolder } from '../mirror/mirror-file.ts';
import { LiveBroker } from './simulated/live-broker.ts';

export interface Machine {
  readonly name: string;
  /** Of its mirror. */
  readonly path: string;
  readonly service: RunningService;
  readonly deaths: readonly Error[];
  /** What it logged, as text. */
  readonly said: readonly string[];
  /** Of its private listener. */
  ask(path: string, init?: RequestInit): Promise<Response>;
  stop(): Promise<void>;
}

export interface Machines {
  readonly sandbox: Sandbox;
  readonly broker: LiveBroker;
  /** Begins one; the same name has the same files. */
  begin(name: string, role: string, env?: Readonly<Record<string, string>>): Promise<Machine>;
}

export async function startMachines(products = 12): Promise<Machines> {
  const folder = temporaryFolder();
  const sandbox = await startSandbox({ products });
  onTestFinished(() => sandbox.stop());
  const broker = new LiveBroker();
  const running = new Set<Machine>();
  onTestFinished(async () => {
    await Promise.all([...running].map((machine) => machine.stop()));
  });
  return {
    sandbox,
    broker,
    begin: async (name, role, env = {}) => {
      const path = join(folder, name, 'mirror.db');
      const config = sharedConfig(
        {
          SERVICE_BASE_URL: sandbox.baseUrl,
          SERVICE_CLIENT_ID: sandbox.clientId,
          SERVICE_CLIENT_SECRET: sandbox.clientSecret,
          SERVICE_WEBHOOK_SECRET: sandbox.webhookSecret,
          DATABASE_PATH: path,
          PORT: '0',
          OPS_PORT: '0',
          LOG_URL: 'nats://memory.invalid:4222',
          ROLE: role,
          ...env,
        },
        folder,
      );
      const said: string[] = [];
      const deaths: Error[] = [];
      const engine = broker.engine(name);
      const service = await startShared(
        config,
        pino({ level: 'info' }, { write: (line: string) => void said.push(line) }),
        (error) => void deaths.push(error),
        {
          ...REAL_SHARED,
          connectLink: () => Promise.resolve({ source: engine, engine }),
          name: () => name,
        },
      );
      const machine: Machine = {
        name,
        path,
        service,
        deaths,
        said,
        ask: (at, init) => fetch(`http://127.0.0.1:${service.ops.port}${at}`, init),
        stop: async () => {
          if (running.delete(machine)) await service.stop();
        },
      };
      running.add(machine);
      return machine;
    },
  };
}

export function webhookUrlOf({ service }: Machine): string {
  if (service.webhook === null) throw new Error('it takes no webhooks');
  return `http://127.0.0.1:${service.webhook.port}/webhooks`;
}
