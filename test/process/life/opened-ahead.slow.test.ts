/** Load balancers open connections ahead of requests, and the store sends a webhook only once. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { signBody } from '../../../src/store-api/signature.ts';
import { delivery, item } from '../../mirror/mirror-file.ts';
import { startMirror, startService } from '../harness.ts';

test('answers a webhook on a connection that was opened 6, 20 or 60 s ahead', async (t) => {
  const sandbox = await startService(t);
  const { webhookUrl } = await startMirror(t, sandbox);
  const { hostname, port, pathname } = new URL(webhookUrl);
  const answerAfter = async (aheadMs: number): Promise<string> => {
    const socket = connect(Number(port), hostname);
    t.onTestFinished(() => void socket.destroy());
    await once(socket, 'connect');
    await sleep(aheadMs);
    const body = delivery(`ahead-${aheadMs}`, item());
    const signature = signBody(sandbox.webhookSecret, body);
    socket.write(
      `POST ${pathname} HTTP/1.1\r\nHost: mirror\r\nX-Service-Signature: ${signature}\r\nContent-Length: ${body.byteLength}\r\n\r\n`,
    );
    socket.write(body);
    const [answer] = (await once(socket.setEncoding('utf8'), 'data')) as [string];
    return answer.slice(0, 'HTTP/1.1 204'.length);
  };
  const answers = await Promise.all([6_000, 20_000, 60_000].map(answerAfter));
  expect(answers).toEqual(['HTTP/1.1 204', 'HTTP/1.1 204', 'HTTP/1.1 204']);
});
