import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { RequestBodies } from '../../src/intake/request-body.ts';

const MEGABYTE = 1 << 20;

function request(headers: Record<string, string> = {}) {
  const stream = Object.assign(new PassThrough({ highWaterMark: 2 * MEGABYTE }), { headers });
  return { stream, incoming: stream as unknown as IncomingMessage };
}

async function turn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

test('refuses a body over the budget until others end', async () => {
  const bodies = new RequestBodies();
  // Overhead leaves no room for the last megabyte.
  const open = Array.from({ length: 64 }, () => {
    const { stream, incoming } = request();
    stream.write(Buffer.alloc(MEGABYTE));
    return { stream, read: bodies.read(incoming) };
  });
  await turn();
  await expect(open[63]?.read).resolves.toBe('no_room');

  for (const { stream } of open) stream.end();
  for (const { read } of open.slice(0, 63)) {
    const body = await read;
    if (typeof body === 'string') throw new Error(body);
    expect(body.bytes.byteLength).toBe(MEGABYTE);
    body.release();
  }
  const { stream, incoming } = request();
  stream.end('after');
  await expect(bodies.read(incoming)).resolves.toMatchObject({ bytes: Buffer.from('after') });
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
