/** The listening socket that a supervisor passed in (systemd socket activation). */
import { fstatSync, readFileSync } from 'node:fs';
import { BACKLOG } from '../platform/listen.ts';
import type { PassedSocket } from './coverage.ts';

const TABLES = ['/proc/net/tcp', '/proc/net/tcp6'];
/** Columns of /proc/net/tcp. */
const QUEUES = 4;
const INODE = 9;

/**
 * @param fd its descriptor.
 * @returns also whether its queue of connections was full, so that the kernel may have refused some.
 */
export function passedSocket(fd: number): PassedSocket {
  const { ino: inode } = fstatSync(fd);
  const waiting = waitingConnections(inode);
  return { inode, wasQueueFull: waiting === null || waiting >= queueLimit() };
}

/** For a listening socket the receive queue counts connections. null if the kernel does not show it. */
function waitingConnections(inode: number): number | null {
  for (const path of TABLES) {
    for (const line of linesOf(path)) {
      const columns = line.trim().split(/\s+/);
      if (columns[INODE] !== String(inode)) continue;
      const [, received = ''] = (columns[QUEUES] ?? '').split(':');
      return Number.parseInt(received, 16);
    }
  }
  return null;
}

/** The run before has asked for `BACKLOG`; the kernel may allow less. */
export function queueLimit(somaxconn = linesOf('/proc/sys/net/core/somaxconn')[0]): number {
  return Math.min(BACKLOG, Number(somaxconn ?? 0));
}

function linesOf(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n');
  } catch {
    return [];
  }
}
