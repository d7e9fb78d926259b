/**
 * `npm run proxies`: what a proxy with the shipped configuration loses while receivers are killed, stopped and
 * stand still. Every webhook is signed and sent once over TLS, with a second to answer.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { measure, tableOf, type Measured } from './proxies/measure.ts';
import { BALANCERS, makeCertificates, PROXIES, SHIPPED, versionOf, type ProxyName } from './proxies/proxy.ts';

const USAGE = `npm run proxies -- [--proxy nginx,caddy,haproxy] [--receivers 1,2] [--socket keep,close]
  [--restart-after 100] [--rate 100] [--seconds 15] [--config FILE]

  --socket         keep: the listening socket stays open over restarts, as with a socket unit
  --restart-after  milliseconds from the end of a receiver to its next start
  --seconds        for each of the three faults
  --config         another configuration than the shipped one, for one proxy`;

const { values } = parseArgs({
  options: {
    proxy: { type: 'string', default: PROXIES.join(',') },
    receivers: { type: 'string', default: '1,2' },
    socket: { type: 'string', default: 'keep,close' },
    'restart-after': { type: 'string', default: '100' },
    rate: { type: 'string', default: '100' },
    seconds: { type: 'string', default: '15' },
    config: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(USAGE);
  process.exit(0);
}
const folder = mkdtempSync(join(tmpdir(), 'stock-mirror-proxies-'));
process.once('SIGINT', () => process.exit(130));
process.once('SIGTERM', () => process.exit(143));
execFileSync(process.execPath, [join(import.meta.dirname, 'build.ts')], { stdio: 'ignore' });
const certificates = makeCertificates(join(folder, 'certificates'));
let isWrong = false;
for (const proxy of values.proxy.split(',') as ProxyName[]) {
  const version = versionOf(proxy);
  if (version === null) {
    console.log(`${proxy} is not installed`);
    continue;
  }
  for (const receivers of values.receivers.split(',').map(Number)) {
    const path = values.config ?? (receivers === 1 ? SHIPPED[proxy] : BALANCERS[proxy]);
    if (path === undefined) continue;
    for (const socket of values.socket.split(',')) {
      const measured: Measured = await measure({
        program: [join(import.meta.dirname, '../dist/bin.js'), 'serve'],
        proxy,
        configuration: readFileSync(path, 'utf8'),
        folder: join(folder, `${proxy}-${receivers}-${socket}`),
        certificates,
        receivers,
        keepSocket: socket === 'keep',
        restartAfterMs: Number(values['restart-after']),
        perSecond: Number(values.rate),
        faultMs: Number(values.seconds) * 1_000,
      });
      console.log(`\n${proxy} ${version}, ${receivers} receiver(s), socket: ${socket}`);
      console.log(tableOf(measured));
      isWrong ||= measured.answeredAndLost > 0 || measured.refusedSignatures > 0;
    }
  }
}
if (isWrong) {
  console.log(`FAILED: an answered webhook is lost, or a body was changed; the logs are in ${folder}`);
  process.exitCode = 1;
} else {
  rmSync(folder, { recursive: true, force: true });
}
