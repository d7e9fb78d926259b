/** A primary behind a proxy that speaks TLS: with its authority named it is followed, without it the reason is said. */
import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { connectPrimary } from '../../../src/replication/http/connect.ts';
import type { Batch } from '../../../src/replication/transport.ts';
import { TOKEN } from '../../ops/harness.ts';
import { delivery, item, storeAt, T0, temporaryFolder, values, readerDb } from '../../mirror/mirror-file.ts';
import { startPrimary } from './machines.ts';

const hasOpenssl = spawnSync('openssl', ['version']).status === 0;

interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** Signed by itself, for 127.0.0.1: its own authority. @returns the paths of its two files. */
function certify(folder: string, name: string, address = '127.0.0.1'): Certificate {
  const [cert, key] = [join(folder, `${name}.pem`), join(folder, `${name}.key`)];
  const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=IP:${address}`];
  execFileSync(
    'openssl',
    ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
      .concat(subject)
      .concat(['-keyout', key, '-out', cert]),
    { stdio: 'ignore' },
  );
  return { cert, key };
}

/** @returns its address. */
async function startProxy({ cert, key }: Certificate, to: string): Promise<string> {
  const server = createServer({ cert: readFileSync(cert), key: readFileSync(key) }, (asked, answer) => {
    const { method, url, headers } = asked;
    const passed = request(to + (url ?? ''), { method, headers }, (given) => {
      answer.writeHead(given.statusCode ?? 502, given.headers);
      given.pipe(answer);
    });
    passed.on('error', () => answer.destroy());
    answer.on('close', () => passed.destroy());
    asked.pipe(passed);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const at = server.address();
  return `https://127.0.0.1:${typeof at === 'object' ? at?.port : ''}`;
}

/** The first that comes. */
async function follow(url: string, epoch: string, caFile: string | null): Promise<Batch | undefined> {
  const source = connectPrimary({ url, token: TOKEN, caFile });
  onTestFinished(() => source.close());
  const from = { epoch, lastSeq: 0, cursor: null };
  for await (const batch of source.follow(from, AbortSignal.timeout(10_000))) return batch;
  return undefined;
}

test.skipIf(!hasOpenssl)('a primary behind TLS is followed by its authority alone', async () => {
  const folder = temporaryFolder();
  const primary = await storeAt();
  await primary.writer.appendDelivery(delivery('r1', item()), T0);
  const db = readerDb(primary.path);
  const epoch = String(values(db, 'SELECT epoch FROM mirror_status')[0]);
  db.close();
  const { url } = await startPrimary(primary);
  const own = certify(folder, 'own');
  const stranger = certify(folder, 'stranger');
  const elsewhere = certify(folder, 'elsewhere', '192.0.2.1');
  const proxied = await startProxy(own, url);
  const followed = await follow(proxied, epoch, own.cert);
  expect(followed?.rows).toHaveLength(primary.writer.lastSeq);

  await expect(follow(proxied, epoch, null)).rejects.toThrow(
    `${proxied} cannot be reached: its certificate is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT): name the authority that issued it in LOG_CA_FILE`,
  );
  await expect(follow(proxied, epoch, stranger.cert)).rejects.toThrow('is not trusted');
  const misnamed = await startProxy(elsewhere, url);
  await expect(follow(misnamed, epoch, elsewhere.cert)).rejects.toThrow('is for another name');

  await expect(follow(url.replace('http:', 'https:'), epoch, own.cert)).rejects.toThrow(
    'see whether LOG_URL should begin with http://',
  );
  await expect(follow(proxied.replace('https:', 'http:'), epoch, null)).rejects.toThrow(proxied.slice(8));
  await expect(follow(proxied, epoch, join(folder, 'none.pem'))).rejects.toThrow(
    'LOG_CA_FILE cannot be read',
  );
  const noPem = join(folder, 'no.pem');
  writeFileSync(noPem, 'hello\n');
  await expect(follow(proxied, epoch, noPem)).rejects.toThrow('LOG_CA_FILE');
});
