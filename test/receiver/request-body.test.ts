import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { RequestBodies } from '../../src/receiver/request-body.ts';

const MEGABYTE = 1 << 20;

function request(headers: Record<string, string> = {}) {
  const stream = Object.assign(new PassThrough({ highWaterMark: 2 * MEGABYTE }), { headers });
  return { stream, incoming: stream as unknown as IncomingMessage };
}

async function turn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

const SMALL = 40_000;

async function held(bodies: RequestBodies, count: number, bytes: number) {
  const open = Array.from({ length: count }, () => {
    const { stream, incoming } = request();
    stream.write(Buffer.alloc(bytes));
    return { stream, read: bodies.read(incoming) };
  });
  await turn();
  return open;
}

test('refuses a large body over half of the budget until others end, but takes small ones', async () => {
  const bodies = new RequestBodies();
  // Overhead leaves no room for the last megabyte.
  const open = await held(bodies, 32, MEGABYTE);
  await expect(open[31]?.read).resolves.toBe('no_room');
  const [small] = await held(bodies, 1, SMALL);
  small?.stream.end();
  await expect(small?.read).resolves.toMatchObject({ bytes: Buffer.alloc(SMALL) });

  for (const { stream } of open) stream.end();
  for (const { read } of open.slice(0, 31)) {
    const body = await read;
    if (typeof body === 'string') throw new Error(body);
    expect(body.bytes.byteLength).toBe(MEGABYTE);
    body.release();
  }
  const { stream, incoming } = request();
  stream.end(Buffer.alloc(MEGABYTE));
  await expect(bodies.read(incoming)).resolves.toMatchObject({ bytes: Buffer.alloc(MEGABYTE) });
});

test('refuses small bodies only over the whole budget', async () => {
  const bodies = new RequestBodies();
  const open = await held(bodies, 1_700, SMALL);
  const refused = await Promise.all(
    open.map(({ read }) => Promise.race([read, turn().then(() => 'waits' as const)])),
  );
  const kept = refused.filter((outcome) => outcome === 'waits').length;
  expect(kept).toBe(Math.floor((64 << 20) / (SMALL + 1_024)));
});

test('counts the memory of single-byte pieces', async () => {
  const bodies = new RequestBodies();
  const reads = [];
  for (let n = 0; n < 4; n += 1) {
    const { stream, incoming } = request();
    reads.push(bodies.read(incoming));
    for (let byte = 0; byte < 20_000; byte += 1) stream.emit('data', Buffer.of(0));
  }
  await expect(Promise.race(reads)).resolves.toBe('no_room');
});

test('frees the budget of a cut connection', async () => {
  const bodies = new RequestBodies();
  for (let n = 0; n < 100; n += 1) {
    const { stream, incoming } = request();
    const read = bodies.read(incoming);
    stream.write(Buffer.alloc(MEGABYTE));
    await turn();
    stream.destroy();
    await expect(read).rejects.toThrow('closed');
  }
});

test('refuses a length over 1 MB unread', async () => {
  const { incoming } = request({ 'content-length': String(MEGABYTE + 1) });
  await expect(new RequestBodies().read(incoming)).resolves.toBe('too_large');
});
