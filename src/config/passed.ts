/**
 * Listening sockets that the process was started with: systemd's protocol of socket activation (sd_listen_fds(3)).
 * The process that passes them keeps them open, so the kernel holds connections while the mirror restarts.
 */
import type { ConfigProblem } from './error.ts';

/** What a socket may be called: `FileDescriptorName=` of its unit. */
const NAMES = ['webhooks', 'ops'] as const;
export type PassedDescriptors = Partial<Record<(typeof NAMES)[number], number>>;

/** After standard input, output and error. */
const FIRST_DESCRIPTOR = 3;

/** @param pid of this process: sockets meant for another process are ignored. */
export function readPassed(
  env: Readonly<Record<string, string | undefined>>,
  pid: number,
): { passed: PassedDescriptors; problem: ConfigProblem | null } {
  const { LISTEN_PID: forPid, LISTEN_FDS: count = '', LISTEN_FDNAMES: names = '' } = env;
  if (forPid !== String(pid)) return { passed: {}, problem: null };
  const given = names.split(':');
  const passed = Object.fromEntries(given.map((name, index) => [name, FIRST_DESCRIPTOR + index]));
  const isRight = given.every(
    (name, index) => NAMES.some((known) => known === name) && given.indexOf(name) === index,
  );
  if (isRight && count === String(given.length)) return { passed, problem: null };
  const problem = `is ${JSON.stringify(names)} for LISTEN_FDS=${count}: each socket is either webhooks or ops, once`;
  const remedy =
    'Set FileDescriptorName=webhooks in the socket unit, or ops in that of the private listener.';
  return { passed: {}, problem: { name: 'LISTEN_FDNAMES', problem, remedy } };
}
