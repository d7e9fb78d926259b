/** Who reads slowly, but reads, is not cut: a chunk that is larger than what it takes within the time limit arrives whole. */
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Hono } from 'hono';
import { expect, onTestFinished, test, vi } from 'vitest';
import { HeldAnswers } from '../../src/ops/feed/held-answers.ts';
import type { OpsEnv } from '../../src/ops/shared/env.ts';
import { listen } from '../../src/platform/listen.ts';

const CHUNK_BYTES = 32 << 20;
const BYTES_PER_S = 350_000;

// Longer than the ten seconds after which a reader that takes nothing is cut.
test('350 KB/s is enough, however large the chunk', { timeout: 60_000 }, async () => {
  const info = vi.fn();
  const held = new HeldAnswers({
    stopping: new AbortController().signal,
    log: { info, warn: info } as never,
  });
  const app = new Hono<OpsEnv>();
  app.get('/', (c) =>
    held.stream(
      c,
      // eslint-disable-next-line @typescript-eslint/require-await -- it has it at once
      async function* () {
        yield new Uint8Array(CHUNK_BYTES);
      },
      () => undefined,
    ),
  );
  const listener = await listen({ fetch: app.fetch }, '127.0.0.1', 0);
  onTestFinished(() => listener.stop(0));
  const [response] = (await once(get(`http://127.0.0.1:${listener.port}/`), 'response')) as [IncomingMessage];
  const cut = vi.fn();
  response.on('error', cut);
  let bytes = 0;
  const untilMs = performance.now() + 15_000;
  while (performance.now() < untilMs && cut.mock.calls.length === 0) {
    await sleep(100);
    for (let due = BYTES_PER_S / 10; due > 0;) {
      const some = response.read(Math.min(due, response.readableLength || 1)) as Buffer | null;
      if (some === null) break;
      bytes += some.byteLength;
      due -= some.byteLength;
    }
  }
  expect(bytes).toBeGreaterThan(BYTES_PER_S);
  response.on('data', (some: Buffer) => (bytes += some.byteLength));
  await Promise.race([once(response, 'end'), once(response, 'close')]);
  expect(info.mock.calls).toEqual([]);
  expect(bytes).toBe(CHUNK_BYTES);
});
