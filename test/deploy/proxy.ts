/** Starts a proxy with the configuration that the project ships. Only ports, certificates and folders are replaced. */
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export const WEBHOOK_HOST = 'mirror.example';
export const OPS_HOST = 'ops.mirror.example';
export const PROXIES = ['nginx', 'caddy', 'haproxy'] as const;
export type ProxyName = (typeof PROXIES)[number];

const DEPLOY = join(import.meta.dirname, '../../deploy');
export const SHIPPED: Readonly<Record<ProxyName, string>> = {
  nginx: join(DEPLOY, 'proxy/nginx.conf'),
  caddy: join(DEPLOY, 'proxy/Caddyfile'),
  haproxy: join(DEPLOY, 'proxy/haproxy.cfg'),
};
interface ProxyOptions {
  readonly name: ProxyName;
  readonly configuration: string;
  readonly folder: string;
  /** For TLS. */
  readonly port: number;
  /** For plain HTTP, of a proxy that listens there too. */
  readonly plainPort: number;
  readonly certificates: Certificates;
  /** Ports of the mirror's listeners. */
  readonly webhookPort: number;
  readonly opsPort: number;
}

export interface Certificates {
  /** The authority, in PEM. */
  readonly ca: string;
  readonly certificatePath: string;
  readonly keyPath: string;
  /** Certificate and key in one file, as HAProxy reads them. */
  readonly bothPath: string;
}

export interface Proxy {
  end(): Promise<void>;
}

export async function startProxy(options: ProxyOptions): Promise<Proxy> {
  const { name, folder, port } = options;
  mkdirSync(folder, { recursive: true });
  const { command, args, env } = PREPARE[name](options);
  const child = spawn(command, args, {
    cwd: folder,
    env: { PATH: process.env['PATH'], HOME: folder, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const log = createWriteStream(join(folder, 'log'));
  child.stdout.pipe(log, { end: false });
  child.stderr.pipe(log, { end: false });
  const kill = (): void => killGroup(child);
  process.once('exit', kill);
  await untilListening(child, port);
  return {
    async end() {
      process.off('exit', kill);
      const closed = once(child, 'close');
      kill();
      await closed;
    },
  };
}

export function versionOf(name: ProxyName): string | null {
  const { stdout, stderr, error } = spawnSync(
    name,
    { nginx: ['-v'], caddy: ['version'], haproxy: ['-v'] }[name],
    { encoding: 'utf8' },
  );
  if (error !== undefined) return null;
  return /\d+\.\d+\.\d+/.exec(stdout + stderr)?.[0] ?? 'unknown';
}

/** A private authority, and a certificate for `WEBHOOK_HOST`. */
export function makeCertificates(folder: string): Certificates {
  mkdirSync(folder, { recursive: true });
  const path = (name: string): string => join(folder, name);
  const openssl = (...args: string[]): void => void execFileSync('openssl', args, { stdio: 'ignore' });
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
  openssl('req', '-x509', ...key, '-subj', '/CN=trial', '-keyout', path('ca.key'), '-out', path('ca.pem'));
  openssl(
    ...['req', '-x509', '-CA', path('ca.pem'), '-CAkey', path('ca.key'), ...key],
    ...['-subj', `/CN=${WEBHOOK_HOST}`, '-addext', `subjectAltName=DNS:${WEBHOOK_HOST},DNS:${OPS_HOST}`],
    ...[
      '-addext',
      'basicConstraints=critical,CA:FALSE',
      '-keyout',
      path('key.pem'),
      '-out',
      path('cert.pem'),
    ],
  );
  const both = readFileSync(path('cert.pem'), 'utf8') + readFileSync(path('key.pem'), 'utf8');
  writeFileSync(path('both.pem'), both);
  return {
    ca: readFileSync(path('ca.pem'), 'utf8'),
    certificatePath: path('cert.pem'),
    keyPath: path('key.pem'),
    bothPath: path('both.pem'),
  };
}

interface Prepared {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

const PREPARE: Readonly<Record<ProxyName, (options: ProxyOptions) => Prepared>> = {
  nginx: ({ configuration, folder, port, certificates, webhookPort, opsPort }) => {
    const site = configuration
      .replaceAll('127.0.0.1:8787', `127.0.0.1:${webhookPort}`)
      .replaceAll('127.0.0.1:8788', `127.0.0.1:${opsPort}`)
      .replaceAll('listen 443 ', `listen 127.0.0.1:${port} `)
      .replaceAll('listen [::]:443 ', `listen [::1]:${port} `)
      .replaceAll(/ssl_certificate \S+;/g, `ssl_certificate ${certificates.certificatePath};`)
      .replaceAll(/ssl_certificate_key \S+;/g, `ssl_certificate_key ${certificates.keyPath};`);
    const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
      .map((kind) => `${kind}_temp_path ${join(folder, kind)};`)
      .join('\n');
    const path = join(folder, 'nginx.conf');
    // Workers of another user could not enter the folder.
    const user = process.getuid?.() === 0 ? ['user root;'] : [];
    const lines = [
      ...user,
      'daemon off;',
      `pid ${join(folder, 'pid')};`,
      'worker_processes 2;',
      'events {}',
      'http {',
      'access_log off;',
      folders,
      site,
      '}',
    ];
    writeFileSync(path, `${lines.join('\n')}\n`);
    return { command: 'nginx', args: ['-p', folder, '-c', path, '-e', join(folder, 'error.log')] };
  },

  caddy: ({ configuration, folder, port, plainPort, certificates, webhookPort, opsPort }) => {
    const { certificatePath, keyPath } = certificates;
    const site = configuration
      .replaceAll(/^(\{\$\w+_HOST\w*\}) \{$/gm, `$1 {\n\ttls ${certificatePath} ${keyPath}`)
      .replace(/^\{$/m, '{\n\tadmin off');
    const path = join(folder, 'Caddyfile');
    writeFileSync(path, site);
    return {
      command: 'caddy',
      args: ['run', '--config', path, '--adapter', 'caddyfile'],
      env: {
        WEBHOOK_HOST,
        OPS_HOST_NAME: OPS_HOST,
        HTTP_PORT: String(plainPort),
        HTTPS_PORT: String(port),
        RECEIVER: `127.0.0.1:${webhookPort}`,
        MIRROR: `127.0.0.1:${opsPort}`,
        XDG_DATA_HOME: folder,
        XDG_CONFIG_HOME: folder,
      },
    };
  },

  haproxy: ({ configuration, folder, port, certificates, webhookPort, opsPort }) => {
    const path = join(folder, 'haproxy.cfg');
    writeFileSync(
      path,
      configuration
        .replaceAll('127.0.0.1:8787', `127.0.0.1:${webhookPort}`)
        .replaceAll('127.0.0.1:8788', `127.0.0.1:${opsPort}`)
        .replaceAll('bind :443 ', `bind 127.0.0.1:${port} `)
        .replaceAll('bind [::]:443 ', `bind [::1]:${port} `)
        .replaceAll(/ crt \S+/g, ` crt ${certificates.bothPath}`),
    );
    return { command: 'haproxy', args: ['-db', '-f', path] };
  },
};

async function untilListening(child: ChildProcess, port: number): Promise<void> {
  const deadlineMs = performance.now() + 20_000;
  while (performance.now() < deadlineMs && child.exitCode === null) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1');
      socket.once('connect', () => {
        socket.destroy();
        resolve(true);
      });
      socket.once('error', () => resolve(false));
    });
    if (isOpen) return;
    await sleep(50);
  }
  throw new Error(`${child.spawnfile} does not listen: see its log`);
}

/** nginx has workers. */
function killGroup(child: ChildProcess): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  } catch {
    // It has ended already.
  }
}
