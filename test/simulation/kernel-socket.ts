/** A listening socket that the service manager holds: the kernel queues connections while no process accepts them. */
import { closeSync, fstatSync, openSync } from 'node:fs';
import { join } from 'node:path';

export class KernelSocket {
  /** A real descriptor, whose inode the program compares. */
  readonly fd: number;
  readonly inode: number;
  /** Connections that the queue holds; the kernel drops further ones. */
  readonly #room: number;
  readonly #path: string;
  #waiting: ((isAccepted: boolean) => void)[] = [];

  /** @param name of a file; the same name gives the same inode. */
  constructor(folder: string, name: string, room: number) {
    this.#path = join(folder, name);
    this.fd = openSync(this.#path, 'w');
    this.inode = fstatSync(this.fd).ino;
    this.#room = room;
  }

  get queued(): number {
    return this.#waiting.length;
  }

  get isFull(): boolean {
    return this.#waiting.length >= this.#room;
  }

  /** @returns false if the queue was full, or the socket was closed before a process accepted the connection. */
  connect(): Promise<boolean> {
    if (this.isFull) return Promise.resolve(false);
    return new Promise((resolve) => void this.#waiting.push(resolve));
  }

  /** A process listens: it accepts every connection that waits. */
  served(): void {
    this.#release(true);
  }

  close(): void {
    this.#release(false);
    closeSync(this.fd);
  }

  #release(isAccepted: boolean): void {
    for (const resolve of this.#waiting.splice(0)) resolve(isAccepted);
  }
}
