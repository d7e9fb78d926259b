import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';

export function incomingOf(request: Request, body: Uint8Array): IncomingMessage {
  const headers = Object.fromEntries(
    [...request.headers].map(([name, value]) => [name.toLowerCase(), value]),
  );
  return Object.assign(Readable.from([Buffer.from(body)], { objectMode: false }), {
    headers: { ...headers, 'content-length': String(body.byteLength) },
  }) as unknown as IncomingMessage;
}
