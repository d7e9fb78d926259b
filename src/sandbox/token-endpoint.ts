import { ApiError } from './errors.ts';
import type { TokenIssuer } from './oauth.ts';
import type { Answer } from './reads.ts';

const FIELDS = ['grant_type', 'client_id', 'client_secret'] as const;

/** `POST /oauth/token`: credentials in a form body and nowhere else. */
export function answerTokenRequest(
  issuer: TokenIssuer,
  request: { raw: Buffer; contentType: string | undefined; ip: string },
): Answer {
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(request.contentType ?? '')) {
    throw new ApiError(400, 'invalid_request', 'Content-Type must be application/x-www-form-urlencoded');
  }
  const form = new URLSearchParams(request.raw.toString('utf8'));
  for (const key of form.keys()) {
    if (!(FIELDS as readonly string[]).includes(key)) {
      throw new ApiError(400, 'invalid_request', `${key}: unknown field`);
    }
  }
  const [grantType, clientId, clientSecret] = FIELDS.map((field) => {
    const [value, ...more] = form.getAll(field);
    if (value === undefined || value === '') throw new ApiError(400, 'invalid_request', `${field}: required`);
    if (more.length > 0) throw new ApiError(400, 'invalid_request', `${field}: sent more than once`);
    return value;
  }) as [string, string, string];
  return {
    status: 200,
    headers: { 'Cache-Control': 'no-store' },
    body: issuer.issue({ grantType, clientId, clientSecret, ip: request.ip }),
  };
}
