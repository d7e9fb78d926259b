/** The typed client: one function per endpoint over one way of calling, wired from a few settings. */
import { randomUUID } from 'node:crypto';
import { createCall, type CallDeps } from './endpoints/call.ts';
import { orderClient, type OrderClient } from './endpoints/orders.ts';
import { catalogueClient, type CatalogueClient } from './endpoints/products.ts';
import type { AnswerTimes } from './transport/errors.ts';
import { createHttpTransport, type HttpLimits } from './transport/http.ts';
import { createTokenFile, createTokenMemory } from './token/token-file.ts';
import { createTokenProvider, type TokenProvider, type TokenProviderDeps } from './token/token.ts';
import type { TransportResponse } from './transport/transport.ts';
import packageJson from '../../package.json' with { type: 'json' };

/** The whole API of the store. Every function throws ServiceError only, and retries nothing but one refused token. */
export interface ServiceClient extends CatalogueClient, OrderClient {
  /** Closes the connections; calls in flight reject with kind `aborted`. */
  close(): Promise<void>;
}

/** Builds the client over a transport and a token provider. */
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
   * The file that keeps the token, for all processes that share these credentials; created with mode 0600 in a folder
   * that exists. A refused secret stays locked out there until the secret changes. Without it, the token is kept in
   * memory: every process asks for its own, and the store allows ten requests a minute.
   */
  readonly tokenFilePath?: string;
  /** Most requests in flight at once. */
  readonly maxConcurrency: number;
  /** Called when the token file cannot be read or written; the connection continues without it. */
  readonly onTokenFileError: (error: unknown) => void;
  /** Called at the end of every request. `status` and `times` null: without a whole answer. */
  readonly onAnswer?:
    ((endpoint: string, status: number | null, times: AnswerTimes | null) => void) | undefined;
  readonly limits?: Partial<HttpLimits>;
  /**
   * Epoch ms, for the times of answers; default `Date.now`. The age of tokens follows `Date.now`, which all processes
   * share.
   */
  readonly now?: () => number;
}

export interface ServiceConnection {
  readonly client: ServiceClient;
  readonly tokens: TokenProvider;
}

/** Nothing is sent before the first call. */
export function connectService(options: ServiceConnectionOptions): ServiceConnection {
  const { baseUrl, clientId, clientSecret, maxConcurrency, tokenFilePath: path } = options;
  const http = createHttpTransport({
    baseUrl,
    maxConcurrency,
    userAgent: `stock-mirror/${packageJson.version}`,
    now: options.now ?? Date.now,
    ...(options.limits === undefined ? {} : { limits: options.limits }),
  });
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
    file:
      path === undefined ? createTokenMemory() : createTokenFile(path, { baseUrl, clientId, clientSecret }),
    random: Math.random,
    onFileError: options.onTokenFileError,
  });
}

/** The client and its tokens over given parts: sockets, or a simulation. Nothing is sent before the first call. */
export function connectOver({
  close,
  ...parts
}: Omit<TokenProviderDeps, 'now' | 'newRequestId'> & Pick<ServiceClient, 'close'>): ServiceConnection {
  // The age of tokens follows the wall clock, which all processes that share the file have.
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
