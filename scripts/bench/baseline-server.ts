/** What the mirror is measured against: the same HTTP stack, which verifies the signature and answers, and no more. */
import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { listen } from '../../src/listen.ts';
import { verifySignature } from '../../src/service/signature.ts';

const secret = process.argv[2] ?? '';
const app = new Hono();
app.post('/webhooks', bodyLimit({ maxSize: 1 << 20 }), async (c) => {
  const body = new Uint8Array(await c.req.arrayBuffer());
  return verifySignature([secret], body, c.req.header('x-service-signature'))
    ? c.body(null, 204)
    : c.body(null, 401);
});
const { port } = await listen(app, '127.0.0.1', 0);
process.stdout.write(
  `${JSON.stringify({ msg: 'listening', webhooks: `http://127.0.0.1:${port}/webhooks` })}\n`,
);
