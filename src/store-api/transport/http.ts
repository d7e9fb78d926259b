import { promisify } from 'node:util';
import { unzip, type ZlibOptions } from 'node:zlib';
import type { Dispatcher } from 'undici';
import { startDeadline } from '../../platform/deadline.ts';
import { messageOf } from '../../platform/thrown.ts';
import { withDefaults, type Overrides } from '../defaults.ts';
import { ServiceError, type ServiceErrorInit } from './errors.ts';
import { parseHttpDateMs } from './http-date.ts';
import type { Transport, TransportRequest } from './transport.ts';

interface HttpTransportOptions {
  /** http or https, with or without a path; without credentials. */
  readonly baseUrl: string;
  /** Limit of requests in flight; others wait, within their deadline. */
  readonly maxConcurrency: number;
  readonly userAgent: string;
  readonly now: () => number;
  readonly limits?: Overrides<HttpLimits> | undefined;
}

export interface HttpLimits {
  readonly connectTimeoutMs: number;
  /** From the request's last byte to the answer's headers. */
  readonly headersTimeoutMs: number;
  /** Between two parts of the body. */
  readonly bodyTimeoutMs: number;
  /** The whole request, including the wait for a connection. */
  readonly deadlineMs: number;
  readonly maxAnswerBytes: number;
}

const DEFAULT_LIMITS: HttpLimits = {
  connectTimeoutMs: 5_000,
  headersTimeoutMs: 20_000,
  bodyTimeoutMs: 20_000,
  deadlineMs: 30_000,
  maxAnswerBytes: 4 * 1024 * 1024,
};

/**
 * Posts over a pool of connections (docs/store-api.md#conventions). After `close`, requests in flight reject
 * as `aborted`. @throws TypeError, RangeError for impossible options.
 */
export function createHttpTransport(options: HttpTransportOptions) {
  const limits = withDefaults(DEFAULT_LIMITS, options.limits);
  const base = baseOf(options.baseUrl);
  const { maxConcurrency } = options;
  for (const [name, value] of Object.entries({ maxConcurrency, ...limits })) {
    const least = name === 'maxConcurrency' || name === 'maxAnswerBytes' ? 1 : 0;
    if (!Number.isSafeInteger(value) || value < least)
      throw new RangeError(`${name} must be a whole number of at least ${least}, not ${value}`);
  }
  let isClosed = false;
  let connecting: Promise<Dispatcher> | null = null;
  /** Loaded for the first request: undici is large, and the mirror listens before it sends one. */
  const connect = async (): Promise<Dispatcher> => {
    const { throughProxy } = await import('../../platform/proxy.ts');
    return throughProxy({
      connections: maxConcurrency,
      pipelining: 1,
      connect: {
        timeout: limits.connectTimeoutMs,
        // Node gives each of several addresses 250 ms, too short for slow lines.
        autoSelectFamilyAttemptTimeout: Math.ceil(limits.connectTimeoutMs / 3) + 10,
      },
      headersTimeout: limits.headersTimeoutMs,
      bodyTimeout: limits.bodyTimeoutMs,
      maxResponseSize: limits.maxAnswerBytes,
    });
  };

  const send: Transport = async (request) => {
    const { endpoint, requestId, signal } = request;
    const fail = (init: Pick<ServiceErrorInit, 'kind' | 'description' | 'cause'>) =>
      new ServiceError({ endpoint, requestId, ...init });
    const agent = await (connecting ??= connect()).catch((error: unknown) => {
      throw fail({ kind: 'unavailable', description: messageOf(error) });
    });
    if (isClosed) throw fail({ kind: 'aborted', description: 'the client was closed' });
    if (signal?.aborted) throw fail({ kind: 'aborted', description: 'aborted before it was sent' });

    const sentAtMs = options.now();
    const deadline = startDeadline(limits.deadlineMs, signal);
    try {
      const answer = await agent.request({
        origin: base.origin,
        path: base.path + endpoint,
        method: 'POST',
        headers: headersOf(request, options.userAgent),
        body: request.body,
        signal: deadline.signal,
      });
      const bytes = await answer.body.bytes();
      const receivedAtMs = options.now();
      const headers = flatten(answer.headers);
      const isPacked = /^(?:x-)?gzip$|^deflate$/i.test(headers['content-encoding'] ?? '');
      const body = isPacked ? await unpacked(bytes, { maxOutputLength: limits.maxAnswerBytes }) : bytes;
      const serverDateMs = parseHttpDateMs(headers['date']);
      return { status: answer.statusCode, headers, body, sentAtMs, receivedAtMs, serverDateMs };
    } catch (error) {
      if (signal?.aborted) throw fail({ kind: 'aborted', description: 'aborted while in flight' });
      if (!deadline.isOver()) throw fail(describe(error, limits, base.at));
      const description = `no whole answer from ${base.at} within ${limits.deadlineMs} ms`;
      const cause = Object.assign(new Error('timeout'), { code: 'ERR_DEADLINE' });
      throw fail({ kind: 'unavailable', description, cause });
    } finally {
      deadline.release();
    }
  };

  const close = async (): Promise<void> => {
    isClosed = true;
    const agent = await connecting?.catch(() => null);
    await agent?.destroy();
  };
  return { send, close };
}

const unpacked = promisify<Uint8Array, ZlibOptions, Uint8Array>(unzip);

export function storeAt(baseUrl: string): string {
  const { hostname, port, protocol } = new URL(baseUrl);
  return `${hostname}:${port === '' ? (protocol === 'https:' ? '443' : '80') : port}`;
}

function baseOf(baseUrl: string) {
  if (!/^https?:/i.test(baseUrl))
    throw new TypeError('baseUrl must begin with http:// or https://, as in https://store.example');
  if (!URL.canParse(baseUrl))
    throw new TypeError('baseUrl is not a URL: give one such as https://store.example');
  const url = new URL(baseUrl);
  if (url.username !== '' || url.password !== '') throw new TypeError('baseUrl must not hold credentials');
  return { origin: url.origin, path: url.pathname.replace(/\/+$/, ''), at: storeAt(baseUrl) };
}

function headersOf(request: TransportRequest, userAgent: string): Record<string, string> {
  return {
    'content-type': request.contentType,
    accept: 'application/json',
    // Some gateways compress anyway.
    'accept-encoding': 'identity',
    'user-agent': userAgent,
    'x-request-id': request.requestId,
    ...(request.token === undefined ? {} : { authorization: `Bearer ${request.token}` }),
  };
}

function flatten(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, [value].flat().join(', ')]),
  );
}

function describe(
  error: unknown,
  limits: HttpLimits,
  at: string,
): Pick<ServiceErrorInit, 'kind' | 'description' | 'cause'> {
  const { name, message, code } = error as { name: string; message: string; code?: string };
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE' || code === 'ERR_BUFFER_TOO_LARGE')
    return {
      kind: 'too_large',
      description: `the answer is larger than the limit of ${limits.maxAnswerBytes} bytes`,
    };
  if (code?.startsWith('Z_'))
    return { kind: 'contract', description: `the compressed answer cannot be unpacked: ${message}` };
  if (code === 'UND_ERR_DESTROYED' || code === 'UND_ERR_CLOSED')
    return { kind: 'aborted', description: 'the client was closed' };
  // A copy: the parser's errors contain the bytes they failed on, which may hold a token.
  const cause = Object.assign(new Error(message), { name, code });
  // The message names the peer that failed, which may be a proxy.
  const problem = code === undefined || message.includes(code) ? message : `${message} (${code})`;
  return { kind: 'unavailable', description: `no answer from ${at}: ${problem || name}`, cause };
}
