/** The same request as a command for a shell. */
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
    `curl -sS -i ${method === 'POST' ? '' : `-X ${quoted(method)} `}${quoted(url)}`,
    ...headers
      .filter(([name]) => !OWN.test(name))
      .map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(body === '' && method !== 'POST' ? [] : [`--data-binary ${quoted(body)}`]),
  ];
  return parts.join(' \\\n  ');
}

/** One word for a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
