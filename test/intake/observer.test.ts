/** What whoever watches the public listener is told: one word a request, never a body or a signature. */
import { expect, test } from 'vitest';
import { eventually } from '../process/wait.ts';
import { signBody } from '../../src/store-api/signature.ts';
import { delivery, item } from '../mirror/mirror-file.ts';
import { lockInbox, PREVIOUS, send, startIntake, startThreads } from './intake.ts';

test('every answer is told once, with its reason, size and origin', async () => {
  const intake = await startThreads();
  const { post, port, observed } = intake;
  const body = delivery('a', item());
  await post(body);
  await post(body, { 'x-service-signature': signBody(PREVIOUS, body) });
  await send(port, { method: 'POST', path: '/webhooks', headers: {}, pieces: [body] });
  await post(body, { 'x-service-signature': 'sha256=abc' });
  await post(body, { 'x-service-signature': signBody('whsec_other', body) });
  await post(new Uint8Array((1 << 20) + 1)).catch(() => null);
  await eventually(() => observed.length === 6, { what: 'all are told' });
  const lock = lockInbox(intake);
  await post(delivery('b', item()));
  lock.release();
  await eventually(() => observed.length === 7, { what: 'the last one is told' });

  const at = { tookMs: expect.any(Number) as number, remoteAddress: '127.0.0.1', bytes: body.byteLength };
  expect(observed).toEqual([
    { bytes: body.byteLength },
    { bytes: body.byteLength },
    { ...at, status: 401, reason: 'missing_signature' },
    { ...at, status: 401, reason: 'malformed_signature' },
    { ...at, status: 401, reason: 'wrong_signature' },
    { ...at, status: 413, reason: 'too_large', bytes: (1 << 20) + 1 },
    { ...at, status: 503, reason: 'not_stored' },
  ]);
});

test('one that fails changes no answer, and is told in the log', async () => {
  const { post, observed, log } = await startIntake();
  observed.push = () => {
    throw new Error('watching failed');
  };
  expect((await post(delivery('a', item()))).status).toBe(204);
  expect((await post(delivery('b', item()), { 'x-service-signature': 'no' })).status).toBe(401);
  const told = () => log.filter((line) => JSON.stringify(line).includes('watching failed'));
  await eventually(() => told().length === 2, { what: 'both failures are in the log' });
});
