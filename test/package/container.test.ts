/** What the image's builder is given (scripts/deploy/container) is enough to build the package. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

const root = join(import.meta.dirname, '../..');

test('the container file copies all that the build needs', () => {
  const dockerfile = readFileSync(join(root, 'scripts/deploy/container/Dockerfile'), 'utf8');
  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, paths]) =>
    paths!.split(' '),
  );
  const folder = mkdtempSync(join(tmpdir(), 'stock-mirror-image-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  execFileSync('cp', ['-r', ...copied.map((path) => join(root, path)), folder]);
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  execFileSync('npm', ['run', 'build'], { cwd: folder, stdio: 'pipe' });
  expect(existsSync(join(folder, 'dist/bin.js'))).toBe(true);
}, 300_000);
