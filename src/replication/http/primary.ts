/** Requests to the private listener of a primary, and what its refusals mean. */
import { readFileSync } from 'node:fs';
import type { Agent, Dispatcher } from 'undici';
import { FrameError, FrameParser, type Frame } from '../../platform/frames.ts';
import { inTime } from '../../platform/or-aborted.ts';
import { messageOf } from '../../platform/thrown.ts';
import { CannotFollow, TransportError } from '../transport.ts';
import { refusedBy, unreachable } from './refusal.ts';

export interface PrimaryAddress {
  /** Without a final slash. */
  readonly url: string;
  readonly token: string | null;
  /** A PEM file; null: the authorities that this machine trusts. */
  readonly caFile: string | null;
}

/** It gives a sign of life every second. */
const SILENT_AFTER_MS = 2_500;
const CONNECT_WITHIN_MS = 2_500;
/** A primary that is busy may be slow to begin. */
const ANSWER_WITHIN_MS = 5_000;
/** Of what another program answers. */
const MAX_REFUSAL_BYTES = 64 << 10;

export class Primary {
  readonly #address: PrimaryAddress;
  #agent: Promise<Agent> | null = null;
  readonly #closing = new AbortController();

  constructor(address: PrimaryAddress) {
    this.#address = address;
  }

  get url(): string {
    return this.#address.url;
  }

  /**
   * What it answers, frame by frame, until it or the signal ends it.
   *
   * @param type that its answer has. @throws TransportError; CannotFollow when it says so.
   */
  async *frames(path: string, type: string, signal: AbortSignal): AsyncGenerator<Frame[], void, undefined> {
    const ending = new AbortController();
    const until = AbortSignal.any([signal, this.#closing.signal, ending.signal]);
    try {
      const { statusCode, headers, body } = await this.#ask(path, until);
      if (statusCode !== 200 || headers['content-type'] !== type) {
        const { url, token } = this.#address;
        // What never ends says no more than what is empty.
        const text = (await inTime(textOf(body), SILENT_AFTER_MS)) ?? '';
        throw refusedBy({ url, hasToken: token !== null }, { statusCode, headers, text });
      }
      const parser = new FrameParser();
      const chunks = body[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
      for (;;) {
        // Only while it is waited for: how long the caller takes with a chunk says nothing of the primary.
        const next = await inTime(chunks.next(), SILENT_AFTER_MS);
        if (next === undefined) {
          throw new TransportError(`${this.url} has fallen silent: it, or the way to it, is broken`);
        }
        if (next.done === true) break;
        yield parser.push(next.value);
      }
      if (!parser.isAtEnd) throw new TransportError(`${this.url} has broken off in the middle`);
    } catch (error) {
      if (signal.aborted) return;
      throw this.#explained(error);
    } finally {
      ending.abort();
    }
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await (await this.#agent?.catch(() => null))?.destroy();
  }

  async #ask(path: string, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const { token, url } = this.#address;
    this.#agent ??= this.#connect();
    const agent = await this.#agent.catch((error: unknown) => {
      // The next attempt reads the file again.
      this.#agent = null;
      throw error;
    });
    const { origin, pathname } = new URL(url);
    return agent.request({
      origin,
      path: pathname.replace(/\/+$/, '') + path,
      method: 'GET',
      signal,
      headers: {
        // Nothing here unpacks what a proxy may compress.
        'accept-encoding': 'identity',
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      },
    });
  }

  /** Loaded with the first request, as everywhere: it is large. */
  async #connect(): Promise<Agent> {
    const { caFile } = this.#address;
    const { Agent: Connections } = await import('undici');
    const ca = caFile === null ? undefined : authorityIn(caFile);
    return new Connections({
      // Redirects are not followed: the token goes where LOG_URL says, and nowhere else.
      connect: { timeout: CONNECT_WITHIN_MS, ...(ca === undefined ? {} : { ca }) },
      headersTimeout: ANSWER_WITHIN_MS,
      // Silence is watched here, without the whole seconds of that clock.
      bodyTimeout: 0,
    });
  }

  #explained(error: unknown): Error {
    if (error instanceof TransportError || error instanceof CannotFollow) return error;
    if (error instanceof FrameError) {
      const problem = `${this.url} does not send what a primary sends: ${error.message}`;
      return new TransportError(problem, { cause: error });
    }
    return unreachable(this.url, error);
  }
}

function authorityIn(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const problem = messageOf(error);
    throw new TransportError(`LOG_CA_FILE cannot be read: ${problem}`, { cause: error });
  }
}

async function textOf(body: Dispatcher.ResponseData['body']): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    chunks.push(chunk);
    bytes += chunk.byteLength;
    if (bytes > MAX_REFUSAL_BYTES) break;
  }
  return Buffer.concat(chunks).toString('utf8');
}
