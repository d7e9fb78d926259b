import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { present } from '../shared/present.ts';
import { temporaryFolder } from '../shared/temporary-folder.ts';

const root = join(import.meta.dirname, '../..');

test('the container file copies everything that the package needs', () => {
  const dockerfile = readFileSync(join(root, 'deploy/container/Dockerfile'), 'utf8');
  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, paths]) =>
    present(paths).split(' '),
  );
  const folder = temporaryFolder();
  execFileSync('cp', ['-r', ...copied.map((path) => join(root, path)), folder]);
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const destination = temporaryFolder();
  execFileSync('npm', ['run', 'pack', '--', '--destination', destination], { cwd: folder, stdio: 'pipe' });
  expect(readdirSync(destination)).toEqual([expect.stringMatching(/^stock-mirror-.*\.tgz$/)]);
});
