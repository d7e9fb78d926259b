/** The kernel's queue of connections to a listening socket that are not accepted yet. */
import { fstatSync, readFileSync } from 'node:fs';

/** Connections that the kernel queues. Node's default of 511 would shrink the queue of an inherited socket. */
export const BACKLOG = 4_096;

const TABLES = ['/proc/net/tcp', '/proc/net/tcp6'];
/** Columns of /proc/net/tcp. */
const QUEUES = 4;
const INODE = 9;

/** @param fd a listening socket. @returns whether the kernel may have refused connections; also if it does not show it. */
export function isQueueFull(fd: number): boolean {
  const waiting = waitingConnections(fstatSync(fd).ino);
  return waiting === null || waiting >= queueLimit();
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

/** Each run has asked for `BACKLOG`; the kernel may allow less. */
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
