/**
 * What of a caller's request may be shown. The sandbox's own secrets and tokens are made up and public; a program under
 * development may send those of a real store, and they must not appear on a page.
 */

/** Whether a value is a secret or token that this sandbox made up. */
type IsOwn = (value: string) => boolean;

const HIDDEN = '•••';
const WORDS = '(?:secret|token|password|passwd|api[_-]?key)';
// Bounded repetitions: a body made for it must not take seconds.
const NAMED = new RegExp(
  `(${WORDS}[\\w-]{0,40}["']?\\s{0,20}[:=]\\s{0,20})("(?:[^"\\\\]|\\\\.)*"|'(?:[^'\\\\]|\\\\.)*'|[^&\\s,}]+)`,
  'gi',
);
/** A field of a multipart form. */
const PART = new RegExp(`(name="[^"\\r\\n]{0,40}${WORDS}[^"\\r\\n]{0,40}"\\r?\\n\\r?\\n)([^\\r\\n]+)`, 'gi');
const HEADER = new RegExp(`^(?:(?:proxy-)?authorization|cookie)$|${WORDS}`, 'i');

export function shownText(text: string, isOwn: IsOwn): string {
  const hide = (_: string, before: string, value: string): string => {
    const quote = /^["']/.exec(value)?.[0] ?? '';
    const bare = quote === '' ? decoded(value) : value.slice(1, -1);
    return isOwn(bare) ? before + value : `${before}${quote}${HIDDEN}${quote}`;
  };
  return text.replace(NAMED, hide).replace(PART, hide);
}

export function shownHeader(name: string, value: string, isOwn: IsOwn): string {
  if (!HEADER.test(name)) return value;
  const [, scheme = '', credentials = value] = /^((?:Basic|Bearer) +)(\S+)$/i.exec(value) ?? [];
  const isShown = isOwn(credentials) || (/^basic/i.test(scheme) && isOwn(passwordOf(credentials)));
  return isShown ? value : `${scheme}${HIDDEN}`;
}

function passwordOf(credentials: string): string {
  return decoded(
    Buffer.from(credentials, 'base64')
      .toString('utf8')
      .replace(/^[^:]*:/, ''),
  );
}

/** As forms and queries write it. */
function decoded(value: string): string {
  try {
    return decodeURIComponent(value.replaceAll('+', ' '));
  } catch {
    return value;
  }
}
