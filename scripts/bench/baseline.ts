/** The baseline: the same HTTP server, which verifies the signature and answers, but stores nothing. */
import { createAdaptorServer, type HttpBindings } from '@hono/node-server';
import { Hono } from 'hono';
import type { AddressInfo } from 'node:net';
import { verifySignature } from '../../src/store-api/signature.ts';

const secret = process.env['SERVICE_WEBHOOK_SECRET'] ?? '';
const app = new Hono<{ Bindings: HttpBindings }>();
app.post('/webhooks', async (c) => {
  const { incoming } = c.env;
  const chunks: Uint8Array[] = [];
  await new Promise((resolve, reject) => {
    incoming.on('data', (chunk: Uint8Array) => chunks.push(chunk)).on('end', resolve);
    incoming.on('error', reject);
  });
  const signature = String(incoming.headers['x-service-signature']);
  return c.body(null, verifySignature([secret], Buffer.concat(chunks), signature) ? 204 : 401);
});
const server = createAdaptorServer({ fetch: app.fetch });
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  console.log(JSON.stringify({ kind: 'listening', webhooks: `http://127.0.0.1:${port}/webhooks` }));
});
