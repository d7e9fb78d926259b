/**
 * What a browser holds instead of the token: a cookie that says until when it is good, signed with a key made from the
 * token. Nothing is kept here, so that sessions outlive a restart, and another token ends them all.
 */
import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';

export const SESSION_MS = 12 * 60 * 60_000;

export interface Sessions {
  /** Of this token alone: cookies know no ports, and two mirrors may share a host name. */
  readonly cookieName: string;
  /** @returns a new cookie's value. */
  begin(): string;
  /** Whether the value is one of ours, and not yet over. */
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
