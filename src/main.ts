/** The mirror's entry: configuration, composition, listening, draining on SIGTERM. */
import './node-version.ts';
import { runService } from './serve.ts';

process.exitCode = await runService();
