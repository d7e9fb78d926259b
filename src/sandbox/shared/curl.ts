/** The same request as a command for a shell. */
import { shellWord } from '../../web/shell-word.ts';

interface CurlRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
}

/** Made by curl itself, or of a connection. */
const OWN = /^(?:host|content-length|connection|transfer-encoding|accept-encoding|expect|keep-alive)$/i;

export function curlOf({ method, url, headers, body }: CurlRequest): string {
  const parts = [
    `curl -sS -i ${method === 'POST' ? '' : `-X ${shellWord(method)} `}${shellWord(url)}`,
    ...headers
      .filter(([name]) => !OWN.test(name))
      .map(([name, value]) => `-H ${shellWord(`${name}: ${value}`)}`),
    ...(body === '' && method !== 'POST' ? [] : [`--data-binary ${shellWord(body)}`]),
  ];
  return parts.join(' \\\n  ');
}
