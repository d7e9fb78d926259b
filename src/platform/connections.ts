/**
 * The connections of a listener. One that strangers can open has a share of the process for each connection: its bytes
 * reach the HTTP parser a slice at a time, its requests are answered one after the other, and what follows its last
 * answer is thrown away unread.
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { SendQueues, takenBytes } from './send-queues.ts';
import { Slots } from './slots.ts';

/** Who may open connections to a listener that strangers can reach. */
export interface Door {
  /** @returns false: the connection is closed at once. */
  opens(socket: Socket): boolean;
}

interface Connection {
  readonly socket: Socket;
  /** Requests that are under way on it. */
  underWay: number;
  hasAsked: boolean;
  /** Parsed behind one that is under way. */
  readonly waiting: [IncomingMessage, ServerResponse][];
  /** At least so much of what comes next belongs to the body of the latest request. */
  bodyBytes: number;
  /** Its last answer has been written. */
  isOver: boolean;
  /** Bytes that came after that. */
  strayBytes: number;
  /** How much of what was sent the other side has taken, when that was last looked at. */
  takenBytes: number;
  /** Since when it has taken no more, although there is more; null: it has all. */
  untakenSinceMs: number | null;
}

/** So many bytes are parsed in one turn of the event loop: two hundred requests at most, and most deliveries whole. */
const SLICE_BYTES = 4 << 10;
/** Who sent as much at once has more on the way: others have their turn before it is read. */
const MUCH_BYTES = 32 << 10;
/** Large bodies share so many pieces, of at most 64 KB, in so much time: 50 MB/s for all of them together. */
const PIECES_AT_ONCE = 8;
const PIECES_EVERY_MS = 10;
/** A sender that is refused before it has sent its body must be able to read why: a reset would take the answer away. */
const LINGER_MS = 1_000;
const MAX_LINGERING = 256;
const MAX_STRAY_BYTES = 2 << 20;

/** Who takes nothing of an answer for so long is cut, with a reset: the kernel would keep it for minutes. */
const SILENT_MS = 30_000;
const LOOK_EVERY_MS = 5_000;

const CONNECTION = Symbol('connection');
type Known = Socket & { [CONNECTION]?: Connection };

export class Connections {
  readonly #open = new Slots<Connection>();
  readonly #queues = new SendQueues();
  /** Connections with a large body whose next piece waits for its turn. */
  readonly #large: Connection[] = [];
  #pieces = 0;
  #pieceTimer: NodeJS.Timeout | null = null;
  #isEnding = false;
  #lingering = 0;

  /** @param door null: all who reach the listener are trusted. */
  constructor(server: Server, door: Door | null) {
    const answer = takeListener(server, 'request') as RequestListener;
    server.on('request', (incoming, response) => {
      const connection = this.#of(incoming.socket);
      if (connection.isOver) return;
      if (this.#isEnding) response.setHeader('Connection', 'close');
      connection.underWay += 1;
      connection.hasAsked = true;
      connection.bodyBytes = Number(incoming.headers['content-length'] ?? 0);
      response.once('close', () => {
        connection.underWay -= 1;
        if (door !== null) this.#goOn(connection, answer);
      });
      if (door !== null && connection.underWay > 1) connection.waiting.push([incoming, response]);
      else answer(incoming, response);
    });
    if (door === null) {
      const timer = setInterval(() => this.#cutSilent(), LOOK_EVERY_MS).unref();
      server.once('close', () => clearInterval(timer));
      return;
    }
    const begin = takeListener(server, 'connection');
    server.on('connection', (socket: Socket) => {
      if (!door.opens(socket)) {
        socket.on('error', () => undefined).destroy();
        return;
      }
      begin.call(server, socket as never);
      this.#slice(this.#of(socket));
    });
  }

  /** Answers are the last of their connection from now on. */
  beginToEnd(): void {
    this.#isEnding = true;
  }

  /**
   * Half of each: the other side may have sent a request that is not here yet. There is no way left to answer it, but
   * it is taken; when it has read the end, the other side closes its half.
   */
  endIdle(): void {
    for (const [, { socket, underWay, hasAsked }] of this.#open.entries()) {
      if (hasAsked && underWay === 0) socket.end();
    }
  }

  #cutSilent(): void {
    for (const [, connection] of this.#open.entries()) {
      if (connection.takenBytes >= connection.socket.bytesWritten) connection.untakenSinceMs = null;
      else void this.#look(connection);
    }
  }

  async #look(connection: Connection): Promise<void> {
    const { socket } = connection;
    const taken = await takenBytes(this.#queues, socket);
    if (taken === null || socket.destroyed) return;
    const nowMs = performance.now();
    if (taken > connection.takenBytes || connection.untakenSinceMs === null) {
      connection.takenBytes = taken;
      connection.untakenSinceMs = nowMs;
    } else if (nowMs - connection.untakenSinceMs >= SILENT_MS) {
      socket.resetAndDestroy();
    }
  }

  #of(socket: Known): Connection {
    return (socket[CONNECTION] ??= this.#begin(socket));
  }

  #begin(socket: Socket): Connection {
    const connection: Connection = {
      socket,
      underWay: 0,
      hasAsked: false,
      waiting: [],
      bodyBytes: 0,
      isOver: false,
      strayBytes: 0,
      takenBytes: 0,
      untakenSinceMs: null,
    };
    const slot = this.#open.put(connection);
    socket.once('close', () => this.#open.take(slot));
    return connection;
  }

  /** The next of the requests that wait, once the one before is answered. */
  #goOn(connection: Connection, answer: RequestListener): void {
    const next = connection.waiting.shift();
    if (next === undefined) resume(connection.socket);
    else if (!connection.isOver && !connection.socket.destroyed) answer(...next);
  }

  /** Puts itself between the socket and the parser. */
  #slice(connection: Connection): void {
    const { socket } = connection;
    const [parse] = socket.listeners('data');
    if (parse === undefined) return;
    socket.off('data', parse as (chunk: Buffer) => void);
    socket.on('data', (chunk: Buffer) => {
      const isHeld = connection.waiting.length > 0;
      let size = chunk.byteLength;
      if (isHeld) size = 0;
      else if (!connection.isOver) size = Math.min(size, Math.max(SLICE_BYTES, connection.bodyBytes));
      const isYielding = !isHeld && (size < chunk.byteLength || size >= MUCH_BYTES);
      if (isHeld || isYielding) socket.pause();
      if (size < chunk.byteLength) socket.unshift(chunk.subarray(size));
      if (size >= MUCH_BYTES && isYielding) this.#readOn(connection);
      else if (isYielding) setImmediate(() => goOnReading(connection));
      if (isHeld) return;
      if (connection.isOver) {
        connection.strayBytes += size;
        if (connection.strayBytes > MAX_STRAY_BYTES) socket.destroy();
        return;
      }
      parse.call(socket, size === chunk.byteLength ? chunk : chunk.subarray(0, size));
      connection.bodyBytes -= size;
    });
    // What Node calls when an answer was the last: it closes at once, which resets a connection with unread bytes.
    socket.destroySoon = () => this.#end(connection);
  }

  /** One after the other: many large bodies must not keep small ones waiting. */
  #readOn(connection: Connection): void {
    if (this.#pieceTimer === null) this.#pieceTimer = setTimeout(() => this.#readNext(), PIECES_EVERY_MS);
    if (this.#pieces >= PIECES_AT_ONCE) {
      this.#large.push(connection);
      return;
    }
    this.#pieces += 1;
    setImmediate(() => goOnReading(connection));
  }

  #readNext(): void {
    const next = this.#large.splice(0, PIECES_AT_ONCE);
    this.#pieces = next.length;
    this.#pieceTimer = next.length > 0 ? setTimeout(() => this.#readNext(), PIECES_EVERY_MS) : null;
    for (const connection of next) goOnReading(connection);
  }

  #end(connection: Connection): void {
    const { socket } = connection;
    if (connection.isOver) return;
    connection.isOver = true;
    connection.waiting.length = 0;
    socket.end();
    if (this.#isEnding || this.#lingering >= MAX_LINGERING) {
      if (socket.writableFinished) socket.destroy();
      else socket.once('finish', () => socket.destroy());
      return;
    }
    this.#lingering += 1;
    const cut = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('end', () => socket.destroy());
    socket.once('close', () => {
      clearTimeout(cut);
      this.#lingering -= 1;
    });
    resume(socket);
  }
}

function goOnReading({ socket, waiting }: Connection): void {
  if (waiting.length === 0) resume(socket);
}

/** Not when Node has paused the parser itself, since answers are not read: it goes on by itself. */
function resume(socket: Socket): void {
  if (socket.destroyed || (socket as Socket & { _paused?: boolean })._paused === true) return;
  socket.resume();
}

/** Node's own, and so far the only one. */
function takeListener(server: Server, event: string): (...args: never[]) => void {
  const [listener] = server.listeners(event);
  if (listener === undefined) throw new Error(`the server has no listener for ${event}`);
  server.off(event, listener as () => void);
  return listener as (...args: never[]) => void;
}
