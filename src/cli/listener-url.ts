/** How a listener of this configuration is reached from this machine. */

/** @returns null when the port is chosen at each start. */
export function urlOf(
  { host, port }: { readonly host: string; readonly port: number },
  path = '',
): string | null {
  return port === 0 ? null : `http://${reachable(host)}:${port}${path}`;
}

/** A listener on every address is reached on this machine's own. */
export function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}
