/** Makes text from the other side fit to be shown and logged: no secrets, no control characters, not long. */

const MAX_LENGTH = 500;

/**
 * @param secrets are replaced by `[secret]`, also where they stand in the form encoding that a token request uses.
 */
export function safeText(text: string, secrets: readonly string[]): string {
  let safe = text;
  for (const secret of secrets) {
    if (secret === '') continue;
    const inForm = new URLSearchParams([['', secret]]).toString().slice(1);
    for (const form of [secret, inForm]) safe = safe.replaceAll(form, '[secret]');
  }
  // Cut last: a secret that the cut splits would not be found.
  safe = safe.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ').trim();
  return safe.length <= MAX_LENGTH ? safe : `${safe.slice(0, MAX_LENGTH)}…`;
}
