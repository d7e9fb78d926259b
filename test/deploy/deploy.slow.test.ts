/** Checks deployment examples without systemd or a container engine. */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { present } from '../shared/present.ts';
import { temporaryFolder } from '../shared/temporary-folder.ts';

const root = join(import.meta.dirname, '../..');
const FOLDER = join(root, 'deploy');
const read = (path: string): string => readFileSync(join(FOLDER, path), 'utf8');

describe('systemd', () => {
  const mirror = read('systemd/stock-mirror@.service');
  const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;
  const needs = hasSystemd ? '' : ' (skipped: there is no systemd-analyze)';

  test.skipIf(!hasSystemd)(`the units pass systemd-analyze verify${needs}`, () => {
    const folder = temporaryFolder();
    // The command is not installed here.
    const installed = (text: string): string =>
      text.replace('ExecStart=stock-mirror', `ExecStart=${process.execPath}`);
    for (const name of ['stock-mirror@.service', 'stock-mirror-receiver@.service']) {
      writeFileSync(join(folder, name), installed(read(`systemd/${name}`)));
    }
    const copy = (from: string, to: string): void => cpSync(join(FOLDER, from), join(folder, to));
    copy('systemd/stock-mirror-receiver@.socket', 'stock-mirror-receiver@.socket');
    copy('several-machines/stock-mirror-nats.service', 'stock-mirror-nats.service');
    for (const name of ['stock-mirror', 'stock-mirror-receiver']) {
      copy('several-machines/stock-mirror.stream.conf', `${name}@.service.d/stream.conf`);
    }
    copy(
      'several-machines/stock-mirror-receiver-socket.balanced.conf',
      'stock-mirror-receiver@.socket.d/balanced.conf',
    );
    copy('several-machines/stock-mirror-receiver.both.conf', 'stock-mirror-receiver@.service.d/both.conf');
    const verify = (name: string) =>
      spawnSync('systemd-analyze', ['verify', '--man=no', join(folder, name)], { encoding: 'utf8' });
    for (const name of [
      'stock-mirror@shop.service',
      'stock-mirror-receiver@shop.service',
      'stock-mirror-receiver@shop.socket',
      'stock-mirror-nats.service',
    ]) {
      const { status, stderr } = verify(name);
      expect({ status, stderr }, name).toEqual({ status: 0, stderr: '' });
    }
    const broken = installed(mirror).replace('ProtectSystem=strict', 'ProtectSytem=strict');
    writeFileSync(join(folder, 'stock-mirror@.service'), broken);
    expect(verify('stock-mirror@shop.service').stderr).toContain('ProtectSytem');
  });

  test('runs operator commands with the user, files and database of the unit', () => {
    const folder = temporaryFolder();
    // Replaces systemd-run: prints its options and runs the command.
    const standIn = `#!/bin/sh\nwhile :; do case $1 in -*) echo "$1"; shift ;; *) break ;; esac; done; exec "$@"\n`;
    const said = '#!/bin/sh\necho "$#: $*"\n';
    writeFileSync(join(folder, 'systemd-run'), standIn, { mode: 0o755 });
    writeFileSync(join(folder, 'stock-mirror'), said, { mode: 0o755 });
    const script = read('systemd/stock-mirror-run').replace('etc=/etc/stock-mirror', `etc=${folder}`);
    writeFileSync(join(folder, 'stock-mirror-run'), script, { mode: 0o755 });
    const run = (...args: string[]) =>
      spawnSync(join(folder, 'stock-mirror-run'), args, {
        env: { PATH: `${folder}:/usr/bin:/bin` },
        encoding: 'utf8',
      });
    const refused = run('status');
    expect(refused).toMatchObject({ status: 2, stdout: '' });
    expect(refused.stderr).toContain(`there is no ${folder}/status.env`);
    for (const name of ['shop.env', 'shop.client-secret', 'shop.ops-token', 'shop.stream-ca.pem']) {
      writeFileSync(join(folder, name), 'secret');
    }
    const { status, stdout } = run('shop', 'resync', '--product', '1 2');
    expect(status).toBe(0);
    const lines = stdout.trimEnd().replaceAll(folder, '/etc/stock-mirror').split('\n');
    expect(lines.pop()).toBe('3: resync --product 1 2');
    const asInUnit = (text: string): string =>
      text.replace('/var/lib', '%S').replaceAll(/(?<=[/ ])shop/g, '%i');
    const settings = lines.flatMap((line) => /^--property=(.+)$/.exec(line)?.[1] ?? []);
    const unitLines = [mirror, read('several-machines/stock-mirror.stream.conf')].join('\n').split('\n');
    for (const setting of settings) expect(unitLines).toContain(asInUnit(setting));
    expect(settings.filter((setting) => setting.startsWith('LoadCredential='))).toHaveLength(3);
    expect(settings.map((setting) => setting.split('=')[0])).toContain('User');
    const set = lines.flatMap((line) => /^--setenv=(.+)$/.exec(line)?.[1] ?? []);
    const unitName = present(lines.flatMap((line) => /^--unit=(.+)$/.exec(line)?.[1] ?? [])[0]);
    const inUnit = (setting: string): string =>
      asInUnit(setting.replace(`/run/credentials/${unitName}.service`, '%d'));
    expect(set).toHaveLength(6);
    const inLines = (setting: string): boolean =>
      unitLines.includes(`Environment=${setting}`) || unitLines.includes(`Environment="${setting}"`);
    for (const setting of set) expect(setting).toSatisfy((each: string) => inLines(inUnit(each)));
  });
});

test('the workflow of the repository names only scripts and folders that exist', () => {
  const workflow = readFileSync(join(root, '.github/workflows/ci.yml'), 'utf8');
  const paths = [...workflow.matchAll(/(?<=[ "])(?:\.ci|deploy|scripts|src|test)\/[\w./-]+/g)].map(
    ([path]) => path,
  );
  expect(paths).toEqual(expect.arrayContaining(['.ci/run', 'test/core']));
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test('passes existing files to the image builder', () => {
  const ignored = read('container/Dockerfile.dockerignore').split('\n');
  const copied = [...read('container/Dockerfile').matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(
    ([, paths]) => present(paths).split(' '),
  );
  expect(copied).toContain('src');
  for (const path of copied) {
    expect(existsSync(join(root, path)), path).toBe(true);
    expect(ignored, path).toContain(`!${path}`);
  }
});

test('the image’s health check fails without a listener', () => {
  const [, command] = present(/^HEALTHCHECK [^\n]*\\\n {2}CMD (.+)$/m.exec(read('container/Dockerfile')));
  const [, , program] = JSON.parse(present(command)) as string[];
  for (const env of [{ PORT: '1' }, { ROLE: 'mirror', OPS_PORT: '1' }]) {
    const { status, stderr } = spawnSync(process.execPath, ['-e', present(program)], {
      env,
      encoding: 'utf8',
    });
    expect({ status, stderr }).toEqual({ status: 1, stderr: '' });
  }
});
