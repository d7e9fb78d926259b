const KEY = Buffer.from('"request_time":');
const DIGITS = 13;

/** When the store sent a delivery, epoch ms by its clock, without parsing the body; null if the body does not say. */
export function requestTimeMs(body: Uint8Array): number | null {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const start = bytes.indexOf(KEY) + KEY.length;
  const sentAtMs = Number(bytes.toString('latin1', start, start + DIGITS));
  return Number.isSafeInteger(sentAtMs) && sentAtMs >= 0 ? sentAtMs : null;
}
