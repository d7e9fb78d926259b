/** Makes text from the other side fit to be shown and logged: no secrets, no control characters, not long. */

const MAX_LENGTH = 500;

/** @param secrets are replaced by `[secret]`, in every form that a request or an answer may give them. */
export function safeText(text: string, secrets: readonly string[]): string {
  let safe = text;
  for (const secret of secrets) {
    if (secret === '') continue;
    for (const form of formsOf(secret)) safe = safe.replaceAll(form, '[secret]');
  }
  // Truncated last: a secret that truncation splits would not be found.
  safe = safe.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ').trim();
  return safe.length <= MAX_LENGTH ? safe : `${safe.slice(0, MAX_LENGTH)}…`;
}

/** Plain, and encoded for a form, a URL, JSON and base64, whose end depends on the following bytes. */
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
