/**
 * What a browser holds instead of the token: a cookie with its expiry, signed with a key derived from the token. The
 * mirror stores nothing, so sessions survive a restart and a new token ends them all.
 */
import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';

export const SESSION_MS = 12 * 60 * 60_000;

export interface Sessions {
  /** Different for each token: cookies ignore ports, and two mirrors may share a host name. */
  readonly cookieName: string;
  /** @returns a new cookie's value. */
  begin(): string;
  /** Whether the value was signed here and has not expired. */
  isGood(value: string): boolean;
}

/** @param now epoch ms */
export function createSessions(token: string, now: () => number): Sessions {
  const key = Buffer.from(hkdfSync('sha256', token, '', 'stock-mirror ops session', 32));
  const sign = (text: string): string => createHmac('sha256', key).update(text).digest('base64url');
  return {
    cookieName: `stock_mirror_${createHmac('sha256', key).update('cookie name').digest('hex').slice(0, 8)}`,
    begin() {
      const said = `${now() + SESSION_MS}.${randomBytes(12).toString('base64url')}`;
      return `${said}.${sign(said)}`;
    },
    isGood(value) {
      const found = /^((\d{1,16})\.[\w-]{16})\.([\w-]{43})$/.exec(value);
      if (found === null) return false;
      const [, said = '', untilMs = '', signature = ''] = found;
      return timingSafeEqual(Buffer.from(signature), Buffer.from(sign(said))) && Number(untilMs) > now();
    },
  };
}
