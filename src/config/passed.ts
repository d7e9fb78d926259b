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

const REMEDY = `Set FileDescriptorName=webhooks in the socket unit, or ops in that of the private listener.`;

/** @param pid of this process: sockets meant for another process are ignored. */
export function readPassed(
  env: Readonly<Record<string, string | undefined>>,
  pid: number,
): { passed: PassedDescriptors; problems: ConfigProblem[] } {
  const passed: PassedDescriptors = {};
  const problems: ConfigProblem[] = [];
  const { LISTEN_PID: forPid, LISTEN_FDS: count = '', LISTEN_FDNAMES: names = '' } = env;
  if (forPid !== String(pid)) return { passed, problems };
  if (!/^[0-9]{1,3}$/.test(count)) {
    const problem = `is ${JSON.stringify(count)}, which is no number of sockets`;
    return { passed, problems: [{ name: 'LISTEN_FDS', problem, remedy: 'Only systemd should set it.' }] };
  }
  const given = names.split(':');
  for (let index = 0; index < Number(count); index += 1) {
    const name = NAMES.find((known) => known === given[index]);
    if (name === undefined || passed[name] !== undefined) {
      const what = name === undefined ? 'neither webhooks nor ops' : `${name} a second time`;
      const problem = `calls socket ${index + 1} of ${count} ${JSON.stringify(given[index] ?? '')}, ${what}`;
      problems.push({ name: 'LISTEN_FDNAMES', problem, remedy: REMEDY });
    } else {
      passed[name] = FIRST_DESCRIPTOR + index;
    }
  }
  return { passed, problems };
}
