/** The store's API on a thread: token, list and detail. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import { detailOf, LEVELS_PER_PRODUCT, summaryOf, type Quantities } from './catalogue.ts';

const quantities = workerData as Quantities;
const products = quantities.length / LEVELS_PER_PRODUCT;
const MAX_PAGE = 100;

interface Asked {
  readonly product_id?: string;
  readonly limit?: number;
  readonly offset?: number;
}

function list({ limit = 20, offset = 0 }: Asked): unknown {
  const end = Math.min(products, offset + Math.min(limit, MAX_PAGE));
  const rows = Array.from({ length: Math.max(0, end - offset) }, (_, i) => summaryOf(offset + i));
  return { request_id: 'list', products: rows, total: products, has_more: end < products };
}

function answer(path: string, body: string): unknown {
  if (path === '/oauth/token') return { access_token: 'bench', token_type: 'Bearer', expires_in: 14_400 };
  const asked = JSON.parse(body) as Asked;
  if (path === '/v1/product/list') return list(asked);
  return { request_id: 'detail', product: detailOf(asked.product_id ?? '', quantities) };
}

const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
  request.on('end', () => {
    const json = JSON.stringify(answer(request.url ?? '', body));
    response
      .writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(json) })
      .end(json);
  });
});
server.listen(0, '127.0.0.1', () =>
  parentPort?.postMessage(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
);
