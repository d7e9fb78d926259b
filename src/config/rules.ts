/** What variables must satisfy together. A rule is not checked while a variable that it needs is itself wrong. */
import { BlockList, isIP } from 'node:net';
import type { ConfigProblem } from './error.ts';
import { VARIABLES } from './variables.ts';
import type { Values } from './variables.ts';

export function checkTogether(values: Partial<Values>): ConfigProblem[] {
  return [...checkToken(values), ...checkListeners(values)];
}

function checkToken({ OPS_HOST: host, OPS_TOKEN: token }: Partial<Values>): ConfigProblem[] {
  if (host === undefined || token !== null || isLoopback(host)) return [];
  return [
    {
      name: 'OPS_TOKEN',
      problem: `is missing, and OPS_HOST ${host} can be reached from other machines`,
      remedy: `${VARIABLES.OPS_TOKEN.remedy} Or set OPS_HOST=127.0.0.1.`,
    },
  ];
}

function checkListeners(values: Partial<Values>): ConfigProblem[] {
  const { HOST: host, PORT: port, OPS_HOST: opsHost, OPS_PORT: opsPort } = values;
  if (host === undefined || opsHost === undefined) return [];
  // Port 0 is a different free port each time.
  if (port === undefined || port === 0 || port !== opsPort || !overlaps(host, opsHost)) return [];
  return [
    {
      name: 'OPS_PORT',
      problem: `is ${String(opsPort)}, which HOST and PORT already use`,
      remedy: 'Give the private listener a port of its own.',
    },
  ];
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

export function isLoopback(host: string): boolean {
  const family = isIP(host);
  if (family === 0) return host.toLowerCase() === 'localhost';
  return LOOPBACK.check(host, family === 6 ? 'ipv6' : 'ipv4');
}

/** Whether two listeners on one port would collide; an address of every interface collides with any. */
function overlaps(one: string, other: string): boolean {
  const a = canonical(one);
  const b = canonical(other);
  return a === b || a === '*' || b === '*';
}

function canonical(host: string): string {
  const name = host.toLowerCase();
  if (name === 'localhost') return '127.0.0.1';
  if (isIP(name) !== 6) return name === '0.0.0.0' ? '*' : name;
  const [address = name, zone = ''] = name.split('%');
  const compressed = new URL(`http://[${address}]`).hostname;
  return compressed === '[::]' ? '*' : `${compressed}%${zone}`;
}
