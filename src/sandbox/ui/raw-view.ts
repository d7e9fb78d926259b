import { html } from 'hono/html';
import type { Html } from '../../web/html.ts';

/** In the machine's time zone, which is also the reader's. */
export function timeView(atMs: number): Html {
  const at = new Date(atMs);
  const local = new Date(atMs - at.getTimezoneOffset() * 60_000);
  return html`<time datetime="${at.toISOString()}">${local.toISOString().slice(11, 23)}</time>`;
}

export function rawText(text: string, copyId?: string): Html {
  if (copyId === undefined) return html`<pre tabindex="0">${text}</pre>`;
  return html`<pre id="${copyId}" tabindex="0">${text}</pre>
    <button data-copy="${copyId}">Copy</button>`;
}

export function took(ms: number | null): string {
  return `in ${Math.round(ms ?? 0)} ms`;
}

type HeaderList = readonly (readonly [name: string, value: string])[];

export function headerLines(headers: HeaderList): string {
  return headers.map(([name, value]) => `${name}: ${value}`).join('\n');
}

interface CurlRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: HeaderList;
  readonly body: string;
}

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

const shellWord = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
