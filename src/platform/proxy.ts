/** Requests through the environment's proxy. Node's `fetch` would use it for loopback too, or not at all. */
import { Agent, EnvHttpProxyAgent, fetch, Pool, type Dispatcher, type RequestInit } from 'undici';

/** Lowercase names take precedence; loopback is always direct. @throws TypeError unless the proxy is http or https. */
export function throughProxy(options: Omit<Pool.Options, 'connect'> & ConnectOptions = {}): Dispatcher {
  const { connect = {}, headersTimeout } = options;
  try {
    return new EnvHttpProxyAgent({
      ...options,
      noProxy: `localhost,127.0.0.1,::1,${variable('NO_PROXY')}`,
      // Without it, the limits do not apply to connections through a proxy.
      factory: (origin, own) => new Pool(origin, { ...options, ...(own as Pool.Options) }),
      clientFactory: (origin, own) =>
        new Pool(origin, { ...own, ...(headersTimeout === undefined ? {} : { headersTimeout }) }),
      ...(connect.timeout === undefined ? {} : { connectTimeout: connect.timeout }),
      proxyTls: connect,
    });
  } catch (error) {
    const problem = 'HTTPS_PROXY or HTTP_PROXY is not an address such as http://proxy.example:3128';
    throw new TypeError(problem, { cause: error });
  }
}

interface ConnectOptions {
  readonly connect?: { readonly timeout?: number; readonly autoSelectFamilyAttemptTimeout?: number };
}

export const fetchThroughProxy = (url: string, init: RequestInit) =>
  fetch(url, { ...init, dispatcher: throughProxy() });

export const fetchDirectly = (url: string, init: RequestInit) =>
  fetch(url, { ...init, dispatcher: new Agent() });

/** The environment's proxy for an address, for display; null if none. */
export function describeProxy(address: string): string | null {
  const { protocol, hostname } = new URL(address);
  const proxy = (protocol === 'https:' && variable('HTTPS_PROXY')) || variable('HTTP_PROXY');
  if (proxy === '' || ['localhost', '127.0.0.1', '[::1]'].includes(hostname)) return null;
  const exempt = variable('NO_PROXY');
  return `${proxy.replace(/[^/]*@/, '')}${exempt === '' ? '' : `, except for the hosts of NO_PROXY (${exempt})`}`;
}

function variable(name: string): string {
  return process.env[name.toLowerCase()] ?? process.env[name] ?? '';
}
