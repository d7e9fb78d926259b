import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { present } from '../shared/present.ts';

const root = join(import.meta.dirname, '../..');

test('the container file copies everything that the package needs', () => {
  const dockerfile = readFileSync(join(root, 'deploy/container/Dockerfile'), 'utf8');
  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, paths]) =>
    present(paths).split(' '),
  );
  const folder = mkdtempSync(join(tmpdir(), 'stock-mirror-image-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  execFileSync('cp', ['-r', ...copied.map((path) => join(root, path)), folder]);
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const destination = mkdtempSync(join(tmpdir(), 'stock-mirror-packed-'));
  onTestFinished(() => rmSync(destination, { recursive: true }));
  execFileSync('npm', ['run', 'pack', '--', '--destination', destination], { cwd: folder, stdio: 'pipe' });
  expect(readdirSync(destination)).toEqual([expect.stringMatching(/^stock-mirror-.*\.tgz$/)]);
});
