/** What the mirror is measured against: the same server, which verifies the signature, answers, and no more. */
import type { HttpBindings } from '@hono/node-server';
import { Hono } from 'hono';
import { RequestBodies } from '../../../src/intake/request-body.ts';
import { listen } from '../../../src/platform/listen.ts';
import { verifySignature } from '../../../src/store-api/signature.ts';

const secret = process.argv[2] ?? '';
const bodies = new RequestBodies();
const app = new Hono<{ Bindings: HttpBindings }>();
app.post('/webhooks', async (c) => {
  const read = await bodies.read(c.env.incoming);
  if (typeof read === 'string') return c.body(null, 401);
  const isRight = verifySignature(
    [secret],
    read.bytes,
    String(c.env.incoming.headers['x-service-signature']),
  );
  read.release();
  return c.body(null, isRight ? 204 : 401);
});
const { port } = await listen(app, '127.0.0.1', 0);
process.stdout.write(
  `${JSON.stringify({ msg: 'listening', webhooks: `http://127.0.0.1:${port}/webhooks` })}\n`,
);
