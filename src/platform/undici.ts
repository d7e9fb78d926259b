/** What requests to the store need of undici. The whole of it, with `fetch`, takes 12 MB more. */
import request from 'undici/lib/api/api-request.js';
import Dispatcher from 'undici/lib/dispatcher/dispatcher.js';
import EnvHttpProxyAgent from 'undici/lib/dispatcher/env-http-proxy-agent.js';
import Pool from 'undici/lib/dispatcher/pool.js';

// As undici's own entry does.
Object.assign(Dispatcher.prototype, { request });

export { EnvHttpProxyAgent, Pool };
