/**
 * The installed `stock-mirror` command. Distributions ship Node versions that are too old for the program, so the
 * package brings one as an optional dependency: under an old Node this file starts the program again with that one
 * and acts in its place. It therefore has to load on old Node versions itself, and imports nothing else of the
 * program statically.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { isatty } from 'node:tty';
import { fileURLToPath } from 'node:url';
import { explainNodeVersion, isNodeSupported } from './node-requirement.ts';

if (isNodeSupported(process.versions.node)) {
  await import('./cli.ts');
} else {
  const node = findBundledNode();
  if (node === undefined) giveUp();
  else runUnder(node);
}

function findBundledNode(): string | undefined {
  try {
    const manifest = createRequire(import.meta.url).resolve(
      `node-${process.platform}-${process.arch}/package.json`,
    );
    const node = join(dirname(manifest), 'bin', 'node');
    return existsSync(node) ? node : undefined;
  } catch {
    // Not installed: npm leaves out packages that are not made for this machine.
    return undefined;
  }
}

function giveUp(): void {
  process.stderr.write(explainNodeVersion(process.versions.node));
  process.exitCode = 2;
}

/** Runs the command under `node` and ends as it ends, so that the caller of this process sees no difference. */
function runUnder(node: string): void {
  const cli = fileURLToPath(new URL('./cli.js', import.meta.url));
  const child = spawn(node, [cli, ...process.argv.slice(2)], { stdio: 'inherit' });
  const signals: NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  const forward = (signal: NodeJS.Signals) => {
    // On a terminal Ctrl-C reaches the child by itself; a second SIGINT would look like an impatient second Ctrl-C.
    if (signal === 'SIGINT' && (isatty(0) || isatty(1))) return;
    child.kill(signal);
  };
  for (const signal of signals) process.on(signal, forward);

  // The bundled Node is there but does not start, for instance on a system without its C library.
  child.on('error', giveUp);
  child.on('exit', (code, signal) => {
    for (const each of signals) process.off(each, forward);
    if (signal === null) process.exitCode = code ?? 1;
    else process.kill(process.pid, signal);
  });
}
