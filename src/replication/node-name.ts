/** What a process is called among the others of its store: unique, and fit to be a key. */
import { hostname } from 'node:os';

/** @param port of its own on this host. */
export function nodeName(port: number): string {
  return `${hostname().replaceAll(/[^A-Za-z0-9-]/g, '-')}-${port}`;
}
