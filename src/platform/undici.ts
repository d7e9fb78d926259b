/** What requests to the store need of undici. The whole of it, with `fetch`, takes 12 MB more. */
import { createRequire } from 'node:module';
import type * as Undici from 'undici';

const request = createRequire(import.meta.url)('undici/lib/api/api-request.js') as object;
const Dispatcher = createRequire(import.meta.url)(
  'undici/lib/dispatcher/dispatcher.js',
) as typeof Undici.Dispatcher;

// As undici's own entry does.
Object.assign(Dispatcher.prototype, { request });

export const EnvHttpProxyAgent = createRequire(import.meta.url)(
  'undici/lib/dispatcher/env-http-proxy-agent.js',
) as typeof Undici.EnvHttpProxyAgent;

export const Pool = createRequire(import.meta.url)('undici/lib/dispatcher/pool.js') as typeof Undici.Pool;
