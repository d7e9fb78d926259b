/** examples/push with a receiver that refuses everything for a time, then the events of one level. */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { watch } from '../cli/harness.ts';
import { change, EPOCH, FakeMirror, sent } from '../feed/fake-mirror.ts';
import { eventually, temporaryFolder, type Owner } from '../process/harness.ts';
import { exampleCopy } from './example-copy.ts';
import { kill } from './postgres.ts';

const REFUSED = '1';
const TAKEN = '2';
const TRIES = 2;
const idOf = (seq: number): string => `stock-changed-${EPOCH}-${seq}`;

/** A mirror whose changes the test makes. */
async function changingMirror() {
  const mirror = await new FakeMirror().start();
  const made: { readonly seq: number; readonly text: string }[] = [];
  let feed: ServerResponse | null = null;
  mirror.answers.set('/api/changes/stream', (response, url) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(sent('epoch', { epoch: EPOCH, last_seq: mirror.lastSeq }));
    const after = Number(url.searchParams.get('after'));
    for (const { seq, text } of made) if (seq > after) response.write(text);
    feed = response;
  });
  const make = (variantId: string): number => {
    const seq = (mirror.lastSeq += 1);
    const text = `${sent('change', change(seq, variantId))}id: ${seq}\n\n`;
    made.push({ seq, text });
    feed?.write(text);
    return seq;
  };
  return { url: mirror.url, make, isFollowed: () => feed !== null };
}

/** @param statusOf decides the answer to an event of this variant. */
async function receiver(t: Owner, statusOf: (variantId: string) => number) {
  const accepted: { readonly id: string; readonly variantId: string }[] = [];
  const server = createServer((request, response) => {
    void json(request).then((body) => {
      const { variant_id: variantId } = (body as { data: { variant_id: string } }).data;
      const status = statusOf(variantId);
      if (status === 204) accepted.push({ id: String(request.headers['webhook-id']), variantId });
      response.writeHead(status).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { accepted, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` };
}

test('sets aside what is refused while other events are accepted, and sends it again on request', async (t) => {
  const mirror = await changingMirror();
  let isAway = true;
  let refuses: string | null = REFUSED;
  const { accepted, url } = await receiver(t, (variantId) => {
    if (isAway) return 500;
    if (variantId !== refuses) return 204;
    // A refusal counts only if others were accepted since the one before.
    mirror.make(TAKEN);
    return 422;
  });
  const cwd = exampleCopy(t, 'push');
  const env = {
    STOCK_MIRROR_URL: mirror.url,
    PUSH_URL: url,
    PUSH_SECRET: `whsec_${randomBytes(24).toString('base64')}`,
    PUSH_EVENTS: 'changed',
    PUSH_TRIES: String(TRIES),
    PUSH_STATE: join(temporaryFolder(t), 'push-state.db'),
  };
  const run = (...args: string[]) => watch(spawn(process.execPath, ['push.ts', ...args], { cwd, env }));
  const push = run();
  t.onTestFinished(() => kill(push));
  const printed = async (...args: string[]): Promise<string> => (await run(...args).ended).stdout;
  const has = (seq: number): boolean => accepted.some(({ id }) => id === idOf(seq));
  await eventually(mirror.isFollowed, { what: 'its first position' });

  const [first, second] = [mirror.make(REFUSED), mirror.make(REFUSED)];
  const other = mirror.make(TAKEN);
  for (const seq of [first, other]) {
    await eventually(() => push.stderr.split(`${idOf(seq)} not accepted`).length > TRIES + 1, {
      what: 'more failures than tries',
    });
  }
  // The receiver is away: nothing shows that it is the event's fault.
  expect(await printed('list')).toBe('');

  isAway = false;
  await eventually(() => has(other), { what: 'the other level' });
  await eventually(() => push.stderr.includes(`${idOf(second)} is set aside`), {
    what: 'both are set aside',
  });
  expect(await printed('list')).toBe([first, second].map((seq) => `${idOf(seq)}: answered 422 \n`).join(''));

  refuses = null;
  expect(await printed('resend', idOf(second), idOf(first), idOf(other))).toBe(
    `${idOf(second)}: is sent again\n${idOf(first)}: is sent again\n${idOf(other)}: not set aside\n`,
  );
  await eventually(() => has(first) && has(second), { what: 'the events that were refused' });
  expect(await printed('list')).toBe('');
  for (const level of Map.groupBy(accepted, ({ variantId }) => variantId).values()) {
    const ids = level.map(({ id }) => id);
    expect(ids).toEqual(ids.toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true })));
  }
});
