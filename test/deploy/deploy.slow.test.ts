/** The deployment examples name what there is. What would need systemd or a container engine is not run here. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { SETTABLE_NAMES } from '../../src/config/config.ts';
import { present } from '../shared/present.ts';

const root = join(import.meta.dirname, '../..');
const FOLDER = join(root, 'deploy');
const read = (path: string): string => readFileSync(join(FOLDER, path), 'utf8');
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  bin: Record<string, string>;
};

/** Variables of ours, by their prefixes: a wrong one would end the start. */
const named = (text: string): string[] =>
  [
    ...text.matchAll(
      /^[\s-]*(?:Environment=|ENV )?((?:SERVICE|OPS|DATABASE|RETENTION|RE[A-Z]+)_[A-Z_]+)[=:]/gm,
    ),
  ].map(([, name]) => present(name));

describe('systemd', () => {
  const unit = read('systemd/stock-mirror.service');
  const socket = read('systemd/stock-mirror.socket');
  const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;
  const needs = hasSystemd ? '' : ' (skipped: there is no systemd-analyze)';

  test.skipIf(!hasSystemd)(`the units pass systemd-analyze verify${needs}`, () => {
    const folder = mkdtempSync(join(tmpdir(), 'stock-mirror-units-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    // The command is not installed here; that it has this name is another test's.
    const installed = unit.replace('ExecStart=/usr/bin/stock-mirror', `ExecStart=${process.execPath}`);
    writeFileSync(join(folder, 'stock-mirror.service'), installed);
    writeFileSync(join(folder, 'stock-mirror.socket'), socket);
    const verify = (name: string) =>
      spawnSync('systemd-analyze', ['verify', '--man=no', join(folder, name)], { encoding: 'utf8' });
    for (const name of ['stock-mirror.service', 'stock-mirror.socket']) {
      const { status, stderr } = verify(name);
      expect({ status, stderr }, name).toEqual({ status: 0, stderr: '' });
    }
    const broken = installed.replace('ProtectSystem=strict', 'ProtectSytem=strict');
    writeFileSync(join(folder, 'stock-mirror.service'), broken);
    expect(verify('stock-mirror.service').stderr).toContain('ProtectSytem');
  });

  test('an operator’s commands run with the command, user, files and database of the unit', () => {
    const folder = mkdtempSync(join(tmpdir(), 'stock-mirror-run-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    // In the place of systemd-run: says what it is asked for, and runs the command of it.
    const standIn = `#!/bin/sh\nwhile :; do case $1 in -*) echo "$1"; shift ;; *) break ;; esac; done; exec "$@"\n`;
    const said = '#!/bin/sh\necho "$SERVICE_CLIENT_SECRET_FILE $SERVICE_WEBHOOK_SECRET_FILE $#: $*"\n';
    writeFileSync(join(folder, 'systemd-run'), standIn, { mode: 0o755 });
    writeFileSync(join(folder, 'stock-mirror'), said, { mode: 0o755 });
    const script = read('systemd/stock-mirror-run').replace('etc=/etc/stock-mirror', `etc=${folder}`);
    writeFileSync(join(folder, 'stock-mirror-run'), script, { mode: 0o755 });
    const run = (...secrets: string[]): string[] => {
      for (const name of secrets) writeFileSync(join(folder, name), 'secret');
      const { stdout, status } = spawnSync(
        join(folder, 'stock-mirror-run'),
        ['resync', '--product', '1 2'],
        // Its files are passed under the names that they have.
        { env: { PATH: `${folder}:/usr/bin:/bin`, CREDENTIALS_DIRECTORY: folder }, encoding: 'utf8' },
      );
      expect(status).toBe(0);
      return stdout.trimEnd().replaceAll(folder, '/c').split('\n');
    };
    const lines = run('client-secret', 'webhook-secret');
    expect(lines.at(-1)).toBe('/c/client-secret /c/webhook-secret 3: resync --product 1 2');
    const settings = lines.flatMap(
      (line) => /^--property=(.+)$/.exec(line)?.[1]?.replace('/c/', '/etc/stock-mirror/') ?? [],
    );
    const state = (text: string): string => text.replace('/var/lib', '%S');
    for (const setting of settings) expect(unit.split('\n')).toContain(state(setting));
    expect(settings.filter((setting) => setting.startsWith('LoadCredential='))).toHaveLength(2);
    expect(settings.map((setting) => setting.split('=')[0])).toContain('User');
    const database = present(lines.flatMap((line) => /^--setenv=(.+)$/.exec(line)?.[1] ?? [])[0]);
    expect(unit.split('\n')).toContain(`Environment=${state(database)}`);
  });

  test('they name the command, variables and socket that there are', () => {
    const [, command] = present(/^ExecStart=\/usr\/bin\/(\S+) serve$/m.exec(unit));
    expect(Object.keys(manifest.bin)).toContain(command);
    const variables = named(unit + read('systemd/stock-mirror.env'));
    expect(variables).toContain('SERVICE_BASE_URL');
    expect(variables.filter((name) => !SETTABLE_NAMES.includes(name))).toEqual([]);
    // All that a start needs: every required variable, in one of its forms.
    for (const name of ['BASE_URL', 'CLIENT_ID', 'CLIENT_SECRET_FILE', 'WEBHOOK_SECRET_FILE']) {
      expect(variables).toContain(`SERVICE_${name}`);
    }
    expect(socket).toMatch(/^FileDescriptorName=webhooks$/m);
    expect(unit).toMatch(/^RestartPreventExitStatus=2$/m);
  });
});

describe('container', () => {
  const dockerfile = read('container/Dockerfile');
  type Service = {
    environment: Record<string, string>;
    volumes: string[];
    secrets?: string[];
    ports?: string[];
  };
  const compose = parse(read('container/compose.yaml')) as {
    services: { mirror: Service & { build: { context: string; dockerfile: string } }; caddy: Service };
    secrets: Record<string, { file: string }>;
    volumes: Record<string, null>;
  };

  test('what the image is built from is there, and reaches the builder', () => {
    const ignored = read('container/Dockerfile.dockerignore');
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, paths]) =>
      present(paths).split(' '),
    );
    expect(copied).toContain('src');
    for (const path of copied) {
      expect(existsSync(join(root, path)), path).toBe(true);
      expect(ignored.split('\n'), path).toContain(`!${path}`);
    }
    expect(dockerfile).toContain(`/dist/bin.js /usr/local/bin/${present(Object.keys(manifest.bin)[0])}`);
    expect(Object.values(manifest.bin)).toEqual(['dist/bin.js']);
  });

  test('it runs unprivileged, on paths and variables that there are', () => {
    expect(dockerfile).toMatch(/^USER node$/m);
    const variables = [...named(dockerfile), ...Object.keys(compose.services.mirror.environment)];
    expect(variables).toContain('DATABASE_PATH');
    expect(variables.filter((name) => !SETTABLE_NAMES.includes(name))).toEqual([]);
    const [, volume] = present(/^VOLUME (\S+)$/m.exec(dockerfile));
    expect(dockerfile).toContain(`DATABASE_PATH=${present(volume)}/`);
    expect(compose.services.mirror.volumes.map((each) => each.split(':')[1])).toEqual([volume]);
  });

  test('the health check asks the path and port of the public listener', () => {
    const [, command] = present(/^HEALTHCHECK [^\n]*\\\n {2}CMD (.+)$/m.exec(dockerfile));
    const [node, flag, program] = JSON.parse(present(command)) as string[];
    expect([node, flag]).toEqual(['node', '-e']);
    expect(program).toContain('/healthz');
    // Nobody listens there: unhealthy, and not a program that cannot run.
    const { status, stderr } = spawnSync(process.execPath, ['-e', present(program)], {
      env: { PORT: '1' },
      encoding: 'utf8',
    });
    expect({ status, stderr }).toEqual({ status: 1, stderr: '' });
  });

  test('compose: Caddy reaches the public listener, and nobody anything else', () => {
    const { mirror, caddy } = compose.services;
    expect(existsSync(join(FOLDER, 'container', mirror.build.context, mirror.build.dockerfile))).toBe(true);
    expect(mirror.ports).toBeUndefined();
    expect(mirror.secrets).toEqual(Object.keys(compose.secrets));
    for (const name of present(mirror.secrets)) {
      expect(Object.values(mirror.environment)).toContain(`/run/secrets/${name}`);
    }
    const [, port] = present(/^ {2}PORT=(\d+)$/m.exec(dockerfile));
    const caddyfile = read('container/Caddyfile');
    expect(caddyfile).toContain(`reverse_proxy mirror:${present(port)}`);
    expect(caddyfile).toContain('path /webhooks /healthz');
    const ownFiles = caddy.volumes
      .filter((each) => each.startsWith('./'))
      .map((each) => present(each.split(':')[0]));
    for (const file of ownFiles) expect(existsSync(join(FOLDER, 'container', file)), file).toBe(true);
    const kept = caddy.volumes.filter((each) => !each.startsWith('./')).map((each) => each.split(':')[0]);
    expect(kept).toEqual(Object.keys(compose.volumes));
  });
});

test('Litestream copies the database of the systemd unit', () => {
  const { dbs } = parse(read('litestream.yml')) as { dbs: { path: string; replica: { type: string } }[] };
  const [, path] = present(/^Environment=DATABASE_PATH=%S(.+)$/m.exec(read('systemd/stock-mirror.service')));
  expect(dbs.map((db) => db.path)).toEqual([`/var/lib${present(path)}`]);
  expect(present(dbs[0]).replica.type).toBe('s3');
});

test('docs/deploying.md names every file, and each that was not run says so itself', () => {
  const deploying = readFileSync(join(root, 'docs/deploying.md'), 'utf8');
  for (const folder of ['systemd', 'container']) expect(deploying).toContain(`deploy/${folder}`);
  expect(deploying).toContain('deploy/litestream.yml');
  for (const file of readdirSync(join(FOLDER, 'container')).filter((name) => !name.endsWith('ignore'))) {
    expect(read(`container/${file}`), file).toMatch(
      /never (built|run) by its authors|run with Caddy [0-9.]+ only/i,
    );
  }
});
