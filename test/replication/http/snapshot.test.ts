/** A snapshot on its way into two files. */
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { Frame } from '../../../src/platform/frames.ts';
import { writeSnapshot } from '../../../src/replication/http/snapshot.ts';
import { temporaryFolder } from '../../mirror/mirror-file.ts';

test('one that breaks off makes no file any more once it has said so', async () => {
  const folder = temporaryFolder();
  const into = { mirror: join(folder, 'mirror'), log: join(folder, 'log') };
  const payload = new Uint8Array(gzipSync(Buffer.alloc(4 << 20, 7)));
  async function* brokenOff(turns: number): AsyncGenerator<Frame[]> {
    yield [
      {
        header: { type: 'files', mirror_bytes: 1 << 20, log_bytes: 3 << 20 },
        payload: new Uint8Array(),
      },
      { header: { type: 'content' }, payload },
    ];
    for (let turn = 0; turn < turns; turn += 1) await setImmediate();
    throw new Error('cut');
  }
  for (let n = 0; n < 120; n += 1) {
    await expect(writeSnapshot('here', brokenOff(n), into)).rejects.toThrow('cut');
    for (const path of [into.mirror, into.log]) rmSync(path, { force: true });
    await sleep(5);
    expect(readdirSync(folder)).toEqual([]);
  }
});
