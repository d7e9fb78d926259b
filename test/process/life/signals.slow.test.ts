import { expect, test } from 'vitest';
import { startMirror, startService, temporaryFolder } from '../harness.ts';

/** Longer than a signal takes: after each answer the event loop has turned. */
const ANSWERS = 50;

for (const role of ['both', 'receiver', 'mirror']) {
  test.concurrent(
    `${role}: answers on after SIGUSR1 and SIGUSR2, and stops in order on SIGHUP`,
    async (t) => {
      const sandbox = await startService(t);
      const folder = temporaryFolder(t);
      // A mirror reads what a receiver has written.
      if (role === 'mirror') await startMirror(t, sandbox, { folder, env: { ROLE: 'receiver' } });
      const process = await startMirror(t, sandbox, { folder, env: { ROLE: role } });
      for (const signal of ['SIGUSR1', 'SIGUSR2'] as const) {
        process.signal(signal);
        for (let n = 0; n < ANSWERS; n += 1) {
          expect((await fetch(`${process.opsUrl}/metrics`)).status).toBe(200);
        }
        // Node's inspector says there on which port it listens, or why it cannot.
        expect(process.stderr).toBe('');
      }
      process.signal('SIGHUP');
      expect(await process.ended).toEqual({ code: 0, signal: null });
      expect(process.log.at(-1)).toMatchObject({ cause: 'stopped' });
    },
  );
}
