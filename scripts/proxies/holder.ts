/**
 * Starts a receiver again whenever it ends. Arguments: the port, `keep` or `close`, the pause before a start in
 * milliseconds, a script with its arguments. With `keep` it holds the listening socket and passes it on, as a systemd
 * socket unit does. Prints `started <pid>` at each start.
 */
import { spawnSync } from 'node:child_process';
import { createServer } from 'node:net';

const [port = '', socket = '', restartAfterMs = '', ...command] = process.argv.slice(2);
/** Variables of the process with a passed socket; LISTEN_PID survives exec. */
const PASSED = 'LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=webhooks';

/** Never returns to the event loop, so that this process accepts no connection. */
function startAgainAndAgain(passed: number | 'ignore'): never {
  const script = `echo "started $$"; ${passed === 'ignore' ? '' : PASSED} exec "$@"`;
  for (;;) {
    const { status } = spawnSync('sh', ['-c', script, 'sh', process.execPath, ...command], {
      stdio: ['ignore', 'inherit', 'inherit', passed],
    });
    // A wrong configuration.
    if (status === 2) process.exit(2);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(restartAfterMs));
  }
}

if (socket === 'close') startAgainAndAgain('ignore');
const server = createServer().listen({ port: Number(port), host: '127.0.0.1', backlog: 4_096 }, () => {
  const { fd } = (server as unknown as { _handle: { fd: number } })._handle;
  startAgainAndAgain(fd);
});
