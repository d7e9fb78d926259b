import { z } from 'zod';
import { ApiError } from '../shared/errors.ts';
import type { TokenIssuer } from './oauth.ts';
import type { Answer } from '../network/reads.ts';

/** The form. Other fields are refused ("Conventions" 5), as are empty and repeated ones. */
export const tokenRequestSchema = z
  .strictObject({
    grant_type: z.literal('client_credentials'),
    client_id: z.string().min(1),
    client_secret: z.string().min(1),
  })
  .meta({ id: 'TokenRequest' });

/** `POST /oauth/token`: credentials in a form body only. */
export function answerTokenRequest(
  issuer: TokenIssuer,
  request: { readonly raw: Buffer; readonly contentType: string | undefined; readonly ip: string },
): Answer {
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(request.contentType ?? '')) {
    throw new ApiError(400, 'invalid_request', 'Content-Type must be application/x-www-form-urlencoded');
  }
  const form = new URLSearchParams(request.raw.toString('utf8'));
  for (const key of form.keys()) {
    if (!Object.hasOwn(tokenRequestSchema.shape, key)) {
      throw new ApiError(400, 'invalid_request', `${key}: unknown field`);
    }
  }
  const sent = {
    grantType: only(form, 'grant_type'),
    clientId: only(form, 'client_id'),
    clientSecret: only(form, 'client_secret'),
  };
  return {
    status: 200,
    headers: { 'Cache-Control': 'no-store' },
    body: { ...issuer.issue({ ...sent, ip: request.ip }) },
  };
}

function only(form: URLSearchParams, field: keyof typeof tokenRequestSchema.shape): string {
  const [value, ...more] = form.getAll(field);
  if (value === undefined || value === '') throw new ApiError(400, 'invalid_request', `${field}: required`);
  if (more.length > 0) throw new ApiError(400, 'invalid_request', `${field}: sent more than once`);
  return value;
}
