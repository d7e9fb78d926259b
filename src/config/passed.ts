/** systemd socket activation (sd_listen_fds(3)): the kernel holds connections while the mirror restarts. */
import type { ConfigProblem } from './error.ts';

/** `FileDescriptorName=` in the socket units. */
const NAMES = ['webhooks', 'ops'] as const;
type PassedSockets = Partial<Record<(typeof NAMES)[number], { readonly fd: number }>>;

const FIRST_DESCRIPTOR = 3;

export function readPassed(env: Readonly<Record<string, string | undefined>>): {
  passed: PassedSockets;
  problems: ConfigProblem[];
} {
  const { LISTEN_PID: forPid, LISTEN_FDS: count = '', LISTEN_FDNAMES: list = '' } = env;
  if (forPid !== String(process.pid)) return { passed: {}, problems: [] };
  const names = list.split(':');
  const passed = Object.fromEntries(names.map((name, index) => [name, { fd: FIRST_DESCRIPTOR + index }]));
  const known = NAMES.filter((name) => name in passed);
  if (known.length === names.length && count === String(names.length)) return { passed, problems: [] };
  const problem = `is ${JSON.stringify(list)} for LISTEN_FDS=${count}: each socket is either webhooks or ops, once`;
  const remedy =
    'Set FileDescriptorName=webhooks in the socket unit, or ops in that of the private listener.';
  return { passed: {}, problems: [{ name: 'LISTEN_FDNAMES', problem, remedy }] };
}
