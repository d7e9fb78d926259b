/** Token provider and client over real sockets with an injected clock. */
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { createServiceClient } from '../../src/store-api/client.ts';
import { ServiceError } from '../../src/store-api/transport/errors.ts';
import { createHttpTransport, type HttpLimits } from '../../src/store-api/transport/http.ts';
import { fingerprintOf } from '../../src/store-api/token/credentials.ts';
import { createTokenFile, type TokenFile } from '../../src/store-api/token/token-file.ts';
import { createTokenProvider } from '../../src/store-api/token/token.ts';
import { temporaryFolder } from '../shared/temporary-folder.ts';
import { startStubService } from './stub-service.ts';

export const START_MS = 1_790_000_000_000;
export const SECRET = 'cs_very+secret/ value=ü';

interface Clock {
  nowMs: number;
}

interface ConnectionOptions {
  baseUrl: string;
  clientId?: string;
  clientSecret?: string;
  tokenFilePath?: string;
  /** Stands in for the file at `tokenFilePath`. */
  file?: TokenFile;
  clock?: Clock;
  limits?: Partial<HttpLimits>;
  maxConcurrency?: number;
}

/** A second one with the same `tokenFilePath` acts as another process or a restart. */
export function connect(options: ConnectionOptions) {
  const { baseUrl, clientId = 'client-7', clientSecret = SECRET } = options;
  const clock = options.clock ?? { nowMs: START_MS };
  const path = options.tokenFilePath ?? join(temporaryFolder(), 'token.json');
  const fileErrors: unknown[] = [];
  const now = () => clock.nowMs;
  const http = createHttpTransport({
    baseUrl,
    maxConcurrency: options.maxConcurrency ?? 8,
    userAgent: 'stock-mirror/0.0.0-test',
    now,
    limits: options.limits ?? {},
  });
  onTestFinished(http.close);
  const counted = (name: string) => {
    let count = 0;
    return () => `${name}-${(count += 1)}`;
  };
  const tokens = createTokenProvider({
    transport: http.send,
    credentials: { clientId, clientSecret },
    file: options.file ?? createTokenFile(path, fingerprintOf(baseUrl, { clientId, clientSecret })),
    now,
    random: () => 0.5,
    newRequestId: counted('token-request'),
    onFileError: (error) => fileErrors.push(error),
  });
  const client = createServiceClient({
    transport: http.send,
    tokens,
    clientSecret,
    newRequestId: counted('request'),
    close: http.close,
  });
  return { http, tokens, client, clock, tokenFilePath: path, fileErrors };
}

/** Connects to a new stub store. */
export async function connected(options: Omit<ConnectionOptions, 'baseUrl'> = {}) {
  const service = await startStubService();
  return { service, ...connect({ baseUrl: service.baseUrl, ...options }) };
}

/** The ServiceError that `work` must reject with. */
export async function failureOf(work: Promise<unknown>): Promise<ServiceError> {
  const error = await work.then(
    (value) => expect.fail(`resolved with ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ServiceError);
  return error as ServiceError;
}
