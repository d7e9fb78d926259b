import { randomUUID } from 'node:crypto';
import type { Overrides } from './defaults.ts';
import { createCall, type CallDeps } from './endpoints/call.ts';
import { orderClient, type OrderClient } from './endpoints/orders.ts';
import { catalogueClient, type CatalogueClient } from './endpoints/products.ts';
import type { AnswerTimes } from './transport/errors.ts';
import { createHttpTransport, type HttpLimits } from './transport/http.ts';
import { fingerprintOf } from './token/credentials.ts';
import { createTokenFile, createTokenMemory } from './token/token-file.ts';
import { createTokenProvider, type TokenProvider, type TokenProviderDeps } from './token/token.ts';
import type { TransportResponse } from './transport/transport.ts';
import packageJson from '../../package.json' with { type: 'json' };

/** The store's whole API. Every function throws only ServiceError, and retries only one refused token. */
export interface ServiceClient extends CatalogueClient, OrderClient {
  /** Closes the connections; calls in flight reject with kind `aborted`. */
  close(): Promise<void>;
}

export function createServiceClient({
  close,
  ...deps
}: CallDeps & Pick<ServiceClient, 'close'>): ServiceClient {
  const call = createCall(deps);
  return { ...catalogueClient(call), ...orderClient(call), close };
}

export interface ServiceConnectionOptions {
  /** http or https, without credentials. */
  readonly baseUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /**
   * Through this file (mode 0600, in an existing folder), processes with these credentials share token and lockout.
   * Without it, each requests its own token; the store allows ten token requests a minute.
   */
  readonly tokenFilePath?: string | undefined;
  /** Limit of requests in flight. */
  readonly maxConcurrency: number;
  /** Called when the token file cannot be read or written; the connection continues without it. */
  readonly onTokenFileError: (error: unknown) => void;
  /** Called after every request. `status` and `times` are null without a complete answer. */
  readonly onAnswer?:
    ((endpoint: string, status: number | null, times: AnswerTimes | null) => void) | undefined;
  readonly limits?: Overrides<HttpLimits> | undefined;
  /** Epoch ms, for the times of answers. Token ages use `Date.now`, which all processes share. */
  readonly now?: (() => number) | undefined;
}

export interface ServiceConnection {
  readonly client: ServiceClient;
  readonly tokens: TokenProvider;
}

/** Sends nothing before the first call. */
export function connectService(options: ServiceConnectionOptions): ServiceConnection {
  const { baseUrl, clientId, clientSecret, maxConcurrency, tokenFilePath: path } = options;
  const http = createHttpTransport({
    baseUrl,
    maxConcurrency,
    userAgent: `stock-mirror/${packageJson.version}`,
    now: options.now ?? Date.now,
    limits: options.limits,
  });
  const fingerprint = fingerprintOf(baseUrl, { clientId, clientSecret });
  const file = path === undefined ? createTokenMemory() : createTokenFile(path, fingerprint);
  return connectOver({
    async transport(request) {
      let answer: TransportResponse | null = null;
      try {
        answer = await http.send(request);
        return answer;
      } finally {
        options.onAnswer?.(request.endpoint, answer?.status ?? null, answer);
      }
    },
    close: http.close,
    credentials: { clientId, clientSecret },
    file,
    random: Math.random,
    onFileError: options.onTokenFileError,
  });
}

/** `connectService` over given parts: sockets, or a simulation. */
export function connectOver({
  close,
  ...parts
}: Omit<TokenProviderDeps, 'now' | 'newRequestId'> & Pick<ServiceClient, 'close'>): ServiceConnection {
  const tokens = createTokenProvider({ ...parts, now: () => Date.now(), newRequestId: randomUUID });
  const client = createServiceClient({
    transport: parts.transport,
    tokens,
    clientSecret: parts.credentials.clientSecret,
    newRequestId: randomUUID,
    close,
  });
  return { client, tokens };
}
