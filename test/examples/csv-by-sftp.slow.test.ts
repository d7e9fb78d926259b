/** examples/csv-by-sftp with OpenSSH's programs. The server runs at the other end of a pipe, so no port is needed. */
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, type TestContext } from 'vitest';
import { MIRROR_FILE, rows, startBoth, temporaryFolder } from '../process/harness.ts';
import { lacking } from '../shared/programs.ts';

const SERVER = '/usr/sbin/sshd';
const PROJECT = join(import.meta.dirname, '../..');
const needs = lacking('sftp', 'ssh-keygen', SERVER);

/** The script's machine, and the folder of its server. */
function machine(t: TestContext) {
  const folder = temporaryFolder(t);
  const served = join(folder, 'in');
  mkdirSync(served);
  for (const name of ['host-key', 'user-key']) {
    expect(spawnSync('ssh-keygen', ['-q', '-N', '', '-f', join(folder, name)]).status).toBe(0);
  }
  copyFileSync(join(folder, 'user-key.pub'), join(folder, 'authorized_keys'));
  // For a server that root starts.
  if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true });
  writeFileSync(
    join(folder, 'sshd_config'),
    `HostKey ${folder}/host-key
AuthorizedKeysFile ${folder}/authorized_keys
StrictModes no
ForceCommand internal-sftp -d ${folder}
Subsystem sftp internal-sftp
`,
  );
  writeFileSync(join(folder, 'sftp'), `#!/bin/sh\nexec /usr/bin/sftp -F ${folder}/ssh_config "$@"\n`, {
    mode: 0o755,
  });
  const stockMirror = `#!/bin/sh\nexec ${process.execPath} ${PROJECT}/src/cli.ts "$@"\n`;
  writeFileSync(join(folder, 'stock-mirror'), stockMirror, { mode: 0o755 });
  const server = `${SERVER} -i -f ${folder}/sshd_config`;
  return {
    served,
    upload: (databasePath: string, { connection = server }: { connection?: string } = {}) => {
      writeFileSync(
        join(folder, 'ssh_config'),
        `Host partner
  ProxyCommand ${connection.replace('SERVER', server)}
  IdentityFile ${folder}/user-key
  UserKnownHostsFile ${folder}/known_hosts
  StrictHostKeyChecking accept-new
`,
      );
      return spawnSync(join(PROJECT, 'examples/csv-by-sftp/csv-by-sftp'), ['partner', 'in/stock.csv'], {
        cwd: folder,
        env: { PATH: `${folder}:/usr/bin:/bin`, DATABASE_PATH: databasePath, TMPDIR: folder },
        encoding: 'utf8',
        // Only a hang takes so long.
        timeout: 60_000,
      });
    },
  };
}

test.skipIf(needs !== '')(`puts the whole stock on the server, and replaces it${needs}`, async (t) => {
  const { mirror } = await startBoth(t, { products: 100 });
  const { served, upload } = machine(t);
  const file = join(served, 'stock.csv');
  writeFileSync(file, 'the file of yesterday');

  const cut = upload(mirror.databasePath, {
    connection: `/bin/sh -c 'dd bs=1 count=9000 2> /dev/null | SERVER'`,
  });
  expect(cut.status).not.toBe(0);
  expect(readFileSync(file, 'utf8')).toBe('the file of yesterday');

  const missing = upload(join(served, MIRROR_FILE));
  expect(missing.status).not.toBe(0);
  expect(missing.stderr).toContain('does not exist');
  expect(readFileSync(file, 'utf8')).toBe('the file of yesterday');

  expect(upload(mirror.databasePath)).toMatchObject({ status: 0, stdout: '' });
  const [columns, ...lines] = readFileSync(file, 'utf8').trimEnd().split('\r\n');
  const stock = rows<Record<string, unknown>>(mirror.databasePath, 'SELECT * FROM mirror_sellable');
  expect(columns).toBe(Object.keys(stock[0] ?? {}).join(','));
  expect(lines).toHaveLength(stock.length);
  expect(readdirSync(served)).toEqual(['stock.csv']);
});
