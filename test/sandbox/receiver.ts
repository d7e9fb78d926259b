import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Received = {
  method: string | undefined;
  headers: IncomingHttpHeaders;
  raw: Buffer;
  body: { request_id: string; event_type: string; request_time: number; data: { items: Item[] } };
};
export type Item = {
  id: string;
  sku: string;
  old: number;
  new: number;
  warehouse_id: string;
  update_time: number;
  reason: string;
  order_id?: string;
  user_id?: string;
};

export type Receiver = {
  url: string;
  received: Received[];
  /** Status of the next answers; 'never' leaves requests waiting. */
  answer: number | 'never';
  items(): Item[];
  close(): Promise<void>;
};

/** Keeps every webhook in order of arrival. */
export async function startReceiver(): Promise<Receiver> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const raw = Buffer.concat(chunks);
      const body = JSON.parse(raw.toString()) as Received['body'];
      receiver.received.push({ method: request.method, headers: request.headers, raw, body });
      if (receiver.answer !== 'never') response.writeHead(receiver.answer).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`,
    received: [],
    answer: 204,
    items: () => receiver.received.flatMap((received) => received.body.data.items),
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
  return receiver;
}
