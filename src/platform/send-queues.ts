/**
 * What the kernel holds of what was sent and not acknowledged: megabytes for each reader that has stopped reading, and
 * for minutes after its connection was closed. Node cannot say how much; Linux lists it. Elsewhere it is unknown.
 */
import { readFile } from 'node:fs/promises';
import { isIPv6, type Socket } from 'node:net';
import { endianness } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

const TABLES = ['/proc/self/net/tcp', '/proc/self/net/tcp6'];
const LEAST_PAUSE_MS = 20;
/** A host may have very many connections: reading of them takes no more than this share of the time. */
const PAUSES_PER_READ = 10;

type Queues = ReadonlyMap<string, number>;

/** Of the connections to one local port. */
export class SendQueues {
  #nextAtMs = 0;
  #next: Promise<Queues | null> | null = null;

  /** @returns bytes, as of a moment after the call; null: unknown. */
  async unacknowledged({ localPort, remoteAddress, remotePort }: Socket): Promise<number | null> {
    if (localPort === undefined || remoteAddress === undefined || remotePort === undefined) return 0;
    const queues = await this.#read(localPort);
    return queues === null ? null : (queues.get(`${hexOf(remoteAddress)}:${hexPort(remotePort)}`) ?? 0);
  }

  /** Who asks before it begins shares one reading. */
  #read(port: number): Promise<Queues | null> {
    this.#next ??= sleep(Math.max(0, this.#nextAtMs - performance.now()), undefined, { ref: false }).then(
      async () => {
        this.#next = null;
        const queues = await readQueues(port);
        this.#nextAtMs = performance.now() + Math.max(LEAST_PAUSE_MS, PAUSES_PER_READ * queues.tookMs);
        return queues.bytes;
      },
    );
    return this.#next;
  }
}

/** How far the other side of a connection has got: counted in bytes since its beginning; null: unknown. */
export async function takenBytes(queues: SendQueues, socket: Socket): Promise<number | null> {
  const unacknowledged = await queues.unacknowledged(socket);
  return unacknowledged === null ? null : socket.bytesWritten - socket.writableLength - unacknowledged;
}

/** @returns besides, how long this thread took for it. */
async function readQueues(port: number): Promise<{ readonly bytes: Queues | null; readonly tookMs: number }> {
  const texts = await Promise.all(TABLES.map((path) => readFile(path, 'latin1').catch(() => null)));
  if (texts.every((text) => text === null)) return { bytes: null, tookMs: 0 };
  const startedMs = performance.now();
  // local remote state sent:received; established, or closed by the other side, or by this one and not yet at its end.
  const line = new RegExp(`:${hexPort(port)} ([0-9A-F]+:[0-9A-F]{4}) 0[1458] ([0-9A-F]{8}):`, 'g');
  const queues = new Map<string, number>();
  for (const text of texts) {
    for (const [, remote = '', bytes = ''] of (text ?? '').matchAll(line))
      queues.set(remote, parseInt(bytes, 16));
  }
  return { bytes: queues, tookMs: performance.now() - startedMs };
}

const hexPort = (port: number): string => port.toString(16).toUpperCase().padStart(4, '0');

/** As the kernel prints it: words of 32 bits, each in the order of the machine. */
function hexOf(address: string): string {
  const [bare = ''] = address.split('%');
  const bytes = isIPv6(bare) ? bytesOfIpv6(bare) : bare.split('.').map(Number);
  let hex = '';
  for (let word = 0; word < bytes.length; word += 4) {
    const four = bytes.slice(word, word + 4);
    for (const byte of endianness() === 'LE' ? four.toReversed() : four)
      hex += byte.toString(16).padStart(2, '0');
  }
  return hex.toUpperCase();
}

function bytesOfIpv6(address: string): number[] {
  const dotted = /(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address);
  const plain =
    dotted === null
      ? address
      : address.slice(0, dotted.index) +
        [0, 2].map((i) => ((Number(dotted[i + 1]) << 8) | Number(dotted[i + 2])).toString(16)).join(':');
  const [head = '', tail] = plain.split('::');
  const groups = (text: string | undefined): string[] =>
    text === undefined || text === '' ? [] : text.split(':');
  const [before, after] = [groups(head), groups(tail)];
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  return [...before, ...zeros, ...after].flatMap((group) => {
    const value = parseInt(group, 16);
    return [value >> 8, value & 255];
  });
}
