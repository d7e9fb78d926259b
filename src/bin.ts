/**
 * The installed `stock-mirror` command. Distributions ship Nodes that are too old for the program: this file says so.
 * It therefore has to load on old Nodes itself, and imports nothing else of the program statically.
 */
import { keepCompiled } from './platform/compile-cache.ts';
import { explainNodeVersion, isNodeSupported } from './platform/node-requirement.ts';

if (isNodeSupported(process.versions.node)) {
  keepCompiled();
  await import('./cli.ts');
} else {
  process.stderr.write(explainNodeVersion(process.versions.node));
  process.exitCode = 2;
}
