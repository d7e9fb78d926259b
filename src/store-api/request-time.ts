const KEY = Buffer.from('"request_time"');
const VALUE = /^\s*:\s*(\d{13})\b/;
/** Room for the value and the white space before it. */
const VALUE_BYTES = 40;

/** When the store sent a delivery, epoch ms by its clock, without parsing the body; null if the body does not say. */
export function requestTimeMs(body: Uint8Array): number | null {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const keyAt = bytes.indexOf(KEY);
  if (keyAt === -1) return null;
  const valueAt = keyAt + KEY.length;
  const value = VALUE.exec(bytes.toString('latin1', valueAt, valueAt + VALUE_BYTES))?.[1];
  return value === undefined ? null : Number(value);
}
