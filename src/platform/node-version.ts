/**
 * Imported first by every entry: stops with a clear message where the rest would fail with a puzzling one. Exit code
 * 2: the way the program was started is wrong, not its work.
 */
import { explainNodeVersion, isNodeSupported } from './node-requirement.ts';

if (!isNodeSupported(process.versions.node)) {
  process.stderr.write(explainNodeVersion(process.versions.node));
  process.exit(2);
}
