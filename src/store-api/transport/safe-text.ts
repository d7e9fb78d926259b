/** Prepares foreign text for display and logs: no secrets, no control characters, limited length. */

const MAX_LENGTH = 500;

/** @param secrets replaced by `[secret]`, in every encoding that a request or answer may use. */
export function safeText(text: string, secrets: readonly string[]): string {
  let safe = text;
  for (const secret of secrets) {
    if (secret === '') continue;
    for (const form of formsOf(secret)) safe = safe.replaceAll(form, '[secret]');
  }
  // Truncate last: a truncated secret would not be found.
  safe = safe.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ').trim();
  return safe.length <= MAX_LENGTH ? safe : `${safe.slice(0, MAX_LENGTH)}…`;
}

/** Plain, and encoded for a form, a URL, JSON, and base64, the end of which depends on the bytes that follow. */
function formsOf(secret: string): string[] {
  const inForm = new URLSearchParams([['', secret]]).toString().slice(1);
  const inBase64 = Buffer.from(secret).toString('base64').replace(/=+$/, '');
  const inBase64Url = Buffer.from(secret).toString('base64url');
  return [
    secret,
    inForm,
    encodeURIComponent(secret),
    JSON.stringify(secret).slice(1, -1),
    inBase64,
    inBase64Url,
  ];
}
