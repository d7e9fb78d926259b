/**
 * Rows as a message of the stream: short fields in headers, the payload as data. A read that may be logged without its
 * detail carries both payloads, one after the other: either may be too large for a header. Deliveries that are forwarded
 * together are one message, which each server syncs once.
 */
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { MsgHdrs } from '@nats-io/transport-node';
import type { CopiedRow } from '../../event-log/copied-row.ts';
import { encodeFrame, FrameParser } from '../../platform/frames.ts';
import { TransportError } from '../transport.ts';

export interface Encoded {
  readonly headers: MsgHdrs;
  readonly data: Uint8Array;
}

/** To be changed when earlier versions would misread what this one writes. */
const FORM = '1';
const FORM_KEY = 'Mirror-Form';
const KIND = 'Mirror-Kind';
const AT = 'Mirror-At';
const SEQ = 'Mirror-Seq';
const PRODUCT = 'Mirror-Product';
const HASH = 'Mirror-Hash';
/** How many bytes of the payload come first; the rest is the one without the detail. */
const SPLIT = 'Mirror-Split';
const ENCODING = 'Mirror-Encoding';
/** The kind of a message with several deliveries: frames with the instant of each. */
const DELIVERIES = 'deliveries';

const COMPRESS_FROM_BYTES = 16 << 10;
/** Of what is kept, unpacked: more than any answer of the store has. */
const UNPACKED_BYTES = 256 << 20;

const pack = promisify(gzip);
const unpack = promisify(gunzip);

/** @param rows one, or several deliveries. @param headers empty, of the client. */
export async function encodeRows(rows: readonly CopiedRow[], headers: MsgHdrs): Promise<Encoded> {
  const [only] = rows;
  if (rows.length === 1 && only !== undefined) return encodeRow(only, headers);
  headers.set(FORM_KEY, FORM);
  headers.set(KIND, DELIVERIES);
  const data = Buffer.concat(rows.map(({ atMs, payload }) => encodeFrame({ at_ms: atMs }, payload)));
  return { headers, data: await packed(data, headers) };
}

/** @param headers empty, of the client. */
export async function encodeRow(row: CopiedRow, headers: MsgHdrs): Promise<Encoded> {
  const { kind, atMs, seq, payload, detail } = row;
  headers.set(FORM_KEY, FORM);
  headers.set(KIND, kind);
  headers.set(AT, String(atMs));
  if (seq !== null) headers.set(SEQ, String(seq));
  let data: Uint8Array = payload;
  if (detail !== null) {
    headers.set(PRODUCT, encodeURIComponent(detail.productId));
    headers.set(HASH, Buffer.from(detail.hash).toString('base64'));
    headers.set(SPLIT, String(payload.byteLength));
    data = Buffer.concat([payload, detail.payloadWithout]);
  }
  return { headers, data: await packed(data, headers) };
}

async function packed(data: Uint8Array, headers: MsgHdrs): Promise<Uint8Array> {
  if (data.byteLength < COMPRESS_FROM_BYTES) return data;
  const smaller = await pack(data, { level: 3 });
  if (smaller.byteLength >= data.byteLength * 0.9) return data;
  headers.set(ENCODING, 'gzip');
  return smaller;
}

/** @param where for people. @throws TransportError when it is of a form that this version does not know. */
export async function decodeRows(
  headers: MsgHdrs | undefined,
  data: Uint8Array,
  where: string,
): Promise<readonly CopiedRow[]> {
  const get = (key: string): string => headers?.get(key) ?? '';
  const kind = get(KIND);
  const encoding = get(ENCODING);
  if (get(FORM_KEY) !== FORM || kind === '' || !['', 'gzip'].includes(encoding)) {
    throw new TransportError(
      `${where} has a form that this version does not know: update stock-mirror here to the version that wrote it (or, if another program published there, delete that one message)`,
    );
  }
  const bytes = Uint8Array.from(
    encoding === 'gzip' ? await unpack(data, { maxOutputLength: UNPACKED_BYTES }) : data,
  );
  if (kind === DELIVERIES) return deliveriesIn(bytes);
  const seq = get(SEQ) === '' ? null : Number(get(SEQ));
  const atMs = Number(get(AT));
  if (get(SPLIT) === '') return [{ seq, kind, atMs, payload: bytes, detail: null }];
  const split = Number(get(SPLIT));
  const detail = {
    productId: decodeURIComponent(get(PRODUCT)),
    hash: Uint8Array.from(Buffer.from(get(HASH), 'base64')),
    payloadWithout: bytes.subarray(split),
  };
  return [{ seq, kind, atMs, payload: bytes.subarray(0, split), detail }];
}

function deliveriesIn(bytes: Uint8Array<ArrayBuffer>): CopiedRow[] {
  return new FrameParser().push(bytes).map(({ header, payload }): CopiedRow => {
    return { seq: null, kind: 'delivery', atMs: Number(header['at_ms']), payload, detail: null };
  });
}
