/** The examples for several machines fit together, and NATS servers run on them. */
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { loadConfig, loadServeConfig, SETTABLE_NAMES } from '../../src/config/config.ts';
import { present } from '../shared/present.ts';
import { lacking } from '../shared/programs.ts';

const FOLDER = join(import.meta.dirname, '../../deploy/several-machines');
const read = (name: string): string => readFileSync(join(FOLDER, name), 'utf8');
const HOSTS = ['mirror-1', 'mirror-2', 'mirror-3'];
/** What nats.conf expects of its environment. */
const EXPECTED = [
  ...new Set([...read('nats.conf').matchAll(/\$([A-Z_]+)/g)].map(([, name]) => present(name))),
];

function copied(): string {
  const folder = mkdtempSync(join(tmpdir(), 'several-machines-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  cpSync(FOLDER, folder, { recursive: true, filter: (path) => !/\/(secrets|data)$/.test(path) });
  return folder;
}

const noOpenssl = lacking('openssl');
describe.skipIf(noOpenssl)(`make-secrets${noOpenssl}`, () => {
  test('makes a certificate for each host, and a password that is the same on both sides', () => {
    const folder = copied();
    const make = (...hosts: string[]): void => {
      execFileSync(join(folder, 'make-secrets'), hosts, {
        cwd: folder,
        env: { ...process.env, LOG_STORE: 'shop' },
      });
    };
    const made = (name: string): string => readFileSync(join(folder, 'secrets', name), 'utf8');
    make('mirror-1', 'mirror-2');
    const authority = new X509Certificate(made('ca.pem'));
    for (const host of ['mirror-1', 'mirror-2']) {
      const certificate = new X509Certificate(made(`${host}.pem`));
      expect(certificate.verify(authority.publicKey)).toBe(true);
      expect([certificate.checkHost(host), certificate.checkHost('localhost')]).toEqual([host, 'localhost']);
      expect(certificate.checkHost('mirror-9')).toBeUndefined();
    }
    expect(made('users.conf')).toContain(`password: "${made('log-password')}"`);
    expect(made('users.conf')).toContain('"mirror.shop.>"');
    expect(made('users.conf')).toContain('"$KV.mirror_shop_live.>"');
    for (const name of ['ca.key', 'mirror-1.key', 'users.conf', 'log-password']) {
      expect(statSync(join(folder, 'secrets', name)).mode & 0o777, name).toBe(0o600);
    }
    const before = [made('ca.pem'), made('mirror-1.pem'), made('log-password'), made('users.conf')];
    make('mirror-1', 'mirror-3');
    expect([made('ca.pem'), made('mirror-1.pem'), made('log-password'), made('users.conf')]).toEqual(before);
    expect(new X509Certificate(made('mirror-3.pem')).verify(authority.publicKey)).toBe(true);
    expect(spawnSync(join(folder, 'make-secrets'), { cwd: folder }).status).toBe(2);
  });
});

const noServer = lacking('nats-server');
describe.skipIf(noServer || noOpenssl)(`nats.conf${noServer}`, () => {
  test('three servers with it form a cluster that keeps streams, over TLS', { timeout: 60_000 }, async () => {
    const folder = copied();
    execFileSync(join(folder, 'make-secrets'), HOSTS, { cwd: folder });
    cpSync(join(folder, 'secrets/users.conf'), join(folder, 'users.conf'));
    const ports = await freePorts(HOSTS.length * 3);
    const at = (kind: number, host: string): number =>
      present(ports[kind * HOSTS.length + HOSTS.indexOf(host)]);
    const servers: ChildProcess[] = [];
    onTestFinished(async () => {
      for (const server of servers.filter(({ exitCode }) => exitCode === null)) {
        server.kill('SIGKILL');
        await once(server, 'exit');
      }
    });
    for (const host of HOSTS) {
      let config = read('nats.conf')
        .replace('0.0.0.0:4222', `127.0.0.1:${at(0, host)}`)
        .replace('0.0.0.0:6222', `127.0.0.1:${at(1, host)}`)
        .replace('127.0.0.1:8222', `127.0.0.1:${at(2, host)}`);
      for (const other of HOSTS) config = config.replace(`${other}:6222`, `127.0.0.1:${at(1, other)}`);
      writeFileSync(join(folder, `${host}.conf`), config);
      const env = {
        NATS_SERVER_NAME: host,
        NATS_STORE_DIR: join(folder, host),
        NATS_CERT_FILE: join(folder, `secrets/${host}.pem`),
        NATS_KEY_FILE: join(folder, `secrets/${host}.key`),
        NATS_CA_FILE: join(folder, 'secrets/ca.pem'),
      };
      expect(Object.keys(env).toSorted()).toEqual(EXPECTED.toSorted());
      servers.push(
        spawn('nats-server', ['-c', join(folder, `${host}.conf`)], {
          env: { ...process.env, ...env },
          stdio: 'ignore',
        }),
      );
    }
    for (const host of HOSTS) await healthy(`http://127.0.0.1:${at(2, host)}`);
    const { meta_cluster: cluster, config } = (await (
      await fetch(`http://127.0.0.1:${at(2, 'mirror-1')}/jsz`)
    ).json()) as { meta_cluster: { cluster_size: number }; config: Record<string, unknown> };
    expect(cluster.cluster_size).toBe(HOSTS.length);
    expect(config['sync_always']).toBe(true);
  });
});

async function freePorts(count: number): Promise<number[]> {
  const holders = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(holders.map((holder) => once(holder, 'listening')));
  const ports = holders.map((holder) => (holder.address() as AddressInfo).port);
  await Promise.all(holders.map((holder) => once(holder.close(), 'close')));
  return ports;
}

async function healthy(url: string): Promise<void> {
  for (;;) {
    const status = await fetch(`${url}/healthz`).then(
      ({ status: found }) => found,
      () => 0,
    );
    if (status === 200) return;
    await wait(100);
  }
}

describe('systemd', () => {
  const unit = read('stock-mirror-nats.service');
  const dropIn = read('stock-mirror.several.conf');
  const noSystemd = lacking('systemd-analyze');

  test.skipIf(noSystemd)(`the unit and the drop-in pass systemd-analyze verify${noSystemd}`, () => {
    const folder = mkdtempSync(join(tmpdir(), 'several-machines-units-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const mirror = readFileSync(join(FOLDER, '../systemd/stock-mirror.service'), 'utf8');
    const installed = (text: string): string =>
      text.replace(/^ExecStart=\S+/m, `ExecStart=${process.execPath}`);
    writeFileSync(join(folder, 'stock-mirror-nats.service'), installed(unit));
    writeFileSync(join(folder, 'stock-mirror.service'), installed(mirror));
    cpSync(join(FOLDER, '../systemd/stock-mirror.socket'), join(folder, 'stock-mirror.socket'));
    cpSync(join(FOLDER, 'stock-mirror.several.conf'), join(folder, 'stock-mirror.service.d/several.conf'));
    cpSync(join(FOLDER, 'stock-mirror.copy.conf'), join(folder, 'stock-mirror.service.d/copy.conf'));
    cpSync(
      join(FOLDER, 'stock-mirror-socket.several.conf'),
      join(folder, 'stock-mirror.socket.d/several.conf'),
    );
    for (const name of ['stock-mirror-nats.service', 'stock-mirror.service', 'stock-mirror.socket']) {
      const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', join(folder, name)], {
        encoding: 'utf8',
      });
      expect({ status, stderr }, name).toEqual({ status: 0, stderr: '' });
    }
  });

  test('the unit gives the server what its configuration expects, and passes every file that it names', () => {
    const given = [...unit.matchAll(/^Environment=([A-Z_]+)=(.*)$/gm)];
    expect(given.map(([, name]) => name).toSorted()).toEqual(EXPECTED.toSorted());
    const passed = [...unit.matchAll(/^LoadCredential=([^:]+):/gm)].map(([, name]) => present(name));
    const used = [...unit.matchAll(/%d\/(\S+)/g)].map(([, name]) => present(name));
    const included = present(/^include "(.+)"$/m.exec(read('nats.conf')))[1];
    expect(passed.toSorted()).toEqual([...used, included].toSorted());
    expect(unit).toMatch(/^LimitNOFILE=65536$/m);
  });

  test('the settings are those of the mirror, and it accepts them', () => {
    const env = Object.fromEntries(
      [...read('several-machines.env').matchAll(/^(?:# )?([A-Z_]+)=(.*)$/gm)].map(([, name, value]) => [
        name,
        value,
      ]),
    ) as Record<string, string>;
    const inDropIn = [...dropIn.matchAll(/^Environment=([A-Z_]+)=/gm)].map(([, name]) => present(name));
    expect([...Object.keys(env), ...inDropIn].filter((name) => !SETTABLE_NAMES.includes(name))).toEqual([]);
    // /etc/stock-mirror can be entered by root alone.
    for (const name of ['log-password', 'log-ca.pem']) {
      expect(dropIn).toContain(`LoadCredential=${name}:/etc/stock-mirror/${name}`);
      expect(dropIn).toMatch(new RegExp(`^Environment=\\w+=%d/${name}$`, 'm'));
    }
    const { shared } = loadConfig({ env: { ...ENOUGH, ...env }, cwd: '/nowhere', readFile: notThere });
    expect(shared?.url.urls).toEqual(HOSTS.map((host) => `tls://${host}:4222`));
    // The permissions of the user are those for this name.
    expect(shared?.store).toBe(present(/LOG_STORE:-(\w+)/.exec(read('make-secrets')))[1]);
    expect(shared?.user).toBe(present(/user: "(.+)"/.exec(read('make-secrets')))[1]);
  });
});

test('a mirror that only copies starts without the secrets that the unit passes to others', () => {
  const copy = read('stock-mirror.copy.conf');
  const unit = readFileSync(join(FOLDER, '../systemd/stock-mirror.service'), 'utf8');
  const ofStore = [...unit.matchAll(/^Environment=(SERVICE_\w+)=%d/gm)].map(([, name]) => present(name));
  expect(/^UnsetEnvironment=(.+)$/m.exec(copy)?.[1]).toBe(ofStore.join(' '));
  expect(copy).toMatch(/^LoadCredential=$/m);
  const env = { LOG_URL: 'tls://mirror-1:4222', ROLE: 'replica' };
  expect(loadServeConfig({ env, cwd: '/nowhere', readFile: notThere }).service).toBeNull();
});

const ENOUGH = {
  SERVICE_BASE_URL: 'https://store.example',
  SERVICE_CLIENT_ID: 'id',
  SERVICE_CLIENT_SECRET: 'secret',
  SERVICE_WEBHOOK_SECRET: 'secret',
};

function notThere(): string {
  throw Object.assign(new Error('not there'), { code: 'ENOENT' });
}

describe('compose', () => {
  interface Part {
    readonly environment: Record<string, string>;
    readonly volumes: readonly string[];
    readonly secrets?: readonly string[];
    readonly ports?: readonly string[];
    readonly hostname?: string;
    readonly ulimits?: { readonly nofile: { readonly soft: number } };
    readonly build?: { readonly dockerfile_inline: string };
  }
  let compose: {
    readonly services: Record<string, Part>;
    readonly secrets: Record<string, { file: string }>;
  };
  beforeAll(() => {
    compose = parse(read('compose.yaml'), { merge: true }) as typeof compose;
  });
  const part = (name: string): Part => present(compose.services[name]);

  test('each server has what its configuration expects, under the name that its certificate is for', () => {
    for (const host of HOSTS) {
      const { environment, volumes, ulimits, ports } = part(host);
      expect(Object.keys(environment).toSorted()).toEqual(EXPECTED.toSorted());
      expect(environment['NATS_SERVER_NAME']).toBe(host);
      const inside = volumes.map((volume) => present(volume.split(':')[1]));
      for (const name of ['NATS_CERT_FILE', 'NATS_KEY_FILE', 'NATS_CA_FILE', 'NATS_STORE_DIR']) {
        expect(inside).toContain(environment[name]);
      }
      expect(volumes).toContain(`./secrets/${host}.pem:/run/secrets/server.pem:ro`);
      expect(volumes).toContain(`./data/nats-${host.slice(-1)}:/data`);
      expect(inside).toContain('/etc/stock-mirror-nats/users.conf');
      expect(ulimits?.nofile.soft).toBe(65_536);
      expect(ports).toBeUndefined();
    }
  });

  test('each mirror has the settings that there are, a name and files of its own, and the packages', () => {
    const manifest = JSON.parse(readFileSync(join(FOLDER, '../../package.json'), 'utf8')) as {
      peerDependencies: Record<string, string>;
    };
    const packages = Object.keys(manifest.peerDependencies).filter((name) => name.startsWith('@nats-io/'));
    expect(packages).toHaveLength(4);
    const folders = ['replica-1', 'replica-2', 'replica-3'].map((name) => {
      const { environment, volumes, secrets, hostname: host, ports, build } = part(name);
      expect(Object.keys(environment).filter((each) => !SETTABLE_NAMES.includes(each))).toEqual([]);
      expect(secrets).toEqual(Object.keys(compose.secrets));
      for (const secret of present(secrets))
        expect(Object.values(environment)).toContain(`/run/secrets/${secret}`);
      expect(environment['LOG_URL']).toBe(HOSTS.map((each) => `tls://${each}:4222`).join(','));
      for (const each of packages) expect(build?.dockerfile_inline).toContain(`${each}@`);
      expect([host, ports]).toEqual([name, undefined]);
      return volumes[0];
    });
    expect(new Set(folders).size).toBe(3);
  });

  test('Caddy reaches the public listeners, and nothing else', () => {
    const { environment, ports } = part('caddy');
    expect(environment['RECEIVERS']).toBe('replica-1:8787 replica-2:8787 replica-3:8787');
    expect(ports).toEqual(['80:80', '443:443', '443:443/udp']);
    expect(read('Caddyfile')).toContain('path /webhooks /healthz');
  });
});

test('docs/beyond-one-machine.md names every file, and its commands use them', () => {
  const text = readFileSync(join(FOLDER, '../../docs/beyond-one-machine.md'), 'utf8');
  for (const name of [
    'nats.conf',
    'make-secrets',
    'stock-mirror-nats.service',
    'stock-mirror.several.conf',
    'stock-mirror.copy.conf',
    'stock-mirror-socket.several.conf',
    'several-machines.env',
    'compose.yaml',
    'Caddyfile',
  ]) {
    expect(text, name).toContain(name);
    expect(read(name).length, name).toBeGreaterThan(0);
  }
});
