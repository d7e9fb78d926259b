/** The mirror's entry: configuration, composition, listening, draining on SIGTERM. */
import './node-version.ts';
import { keepCompiled } from './compile-cache.ts';
import { endWithNpmShell } from './npm-shell.ts';

keepCompiled();
endWithNpmShell();
const { runService } = await import('./serve.ts');
process.exitCode = await runService();
