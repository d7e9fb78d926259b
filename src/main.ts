/** The mirror's entry: configuration, composition, listening, draining on SIGTERM. */
import { keepCompiled } from './platform/compile-cache.ts';
import { endWithNpmShell } from './platform/npm-shell.ts';

keepCompiled();
endWithNpmShell();
const { runService } = await import('./app/serve.ts');
process.exitCode = await runService();
