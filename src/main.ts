import { beginEntry } from './platform/entry.ts';

beginEntry();
const { runService } = await import('./app/serve.ts');
process.exitCode = await runService();
