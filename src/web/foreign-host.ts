import { isLoopback } from '../platform/authority.ts';

/**
 * Whether a request was addressed to another name than this machine's own. Only the Host header shows that a foreign
 * name resolves to 127.0.0.1 (DNS rebinding).
 * @param port null: any, since it may be forwarded.
 */
export function isForeignHost(header: string, port: number | null): boolean {
  const address = `http://${header}`;
  if (!URL.canParse(address)) return true;
  const url = new URL(address);
  const isOtherPort = port !== null && Number(url.port || 80) !== port;
  return isOtherPort || !isLoopback(url.hostname.replace(/^\[(.*)\]$/, '$1'));
}
