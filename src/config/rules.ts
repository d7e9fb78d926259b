/** What variables must satisfy together. A rule is not checked while a variable that it needs is itself wrong. */
import { BlockList, isIP } from 'node:net';
import type { ConfigProblem } from './error.ts';
import { remedyFor } from './variables.ts';
import type { Values } from './variables.ts';

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

export function isLoopback(host: string): boolean {
  const family = isIP(host);
  if (family === 0) return host.toLowerCase() === 'localhost';
  return LOOPBACK.check(host, family === 6 ? 'ipv6' : 'ipv4');
}

export function checkTogether(values: Partial<Values>): ConfigProblem[] {
  const { HOST, PORT, OPS_HOST, OPS_PORT, OPS_TOKEN } = values;
  const problems: ConfigProblem[] = [];
  if (OPS_HOST !== undefined && OPS_TOKEN === null && !isLoopback(OPS_HOST)) {
    const problem = `is missing, and OPS_HOST ${OPS_HOST} can be reached from other machines`;
    const remedy = `${remedyFor('OPS_TOKEN')} Or set OPS_HOST=127.0.0.1.`;
    problems.push({ name: 'OPS_TOKEN', problem, remedy, isAbsent: true });
  }
  // Port 0 is a different free port each time.
  if (HOST !== undefined && HOST === OPS_HOST && PORT === OPS_PORT && PORT !== 0 && PORT !== undefined) {
    const problem = `is ${PORT}, which HOST and PORT already use`;
    problems.push({ name: 'OPS_PORT', problem, remedy: 'Give the private listener a port of its own.' });
  }
  return problems;
}
