import { readAnswer } from '../transport/answer.ts';
import { ServiceError } from '../transport/errors.ts';
import { tokenResponseSchema } from '../contract/schemas.ts';
import type { Credentials } from './credentials.ts';
import type { IssuedToken } from './token-file.ts';
import type { Transport, TransportRequest } from '../transport/transport.ts';

export const TOKEN_ENDPOINT = '/oauth/token';

/**
 * The credentials are sent only in the form body (docs/store-api.md#post-oauthtoken). @param askedAtMs by the clock of
 * the token's age. @throws ServiceError like `readAnswer`, but `credentials` if the store refuses them, else `contract`
 * for a refusal.
 */
export async function requestToken(
  transport: Transport,
  { clientId, clientSecret }: Credentials,
  requestId: string,
  askedAtMs: number,
): Promise<IssuedToken> {
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
  });
  const request: TransportRequest = {
    endpoint: TOKEN_ENDPOINT,
    requestId,
    contentType: 'application/x-www-form-urlencoded',
    body: form.toString(),
  };
  const response = await transport(request);
  try {
    const { value } = readAnswer(request, response, tokenResponseSchema, [clientSecret]);
    return {
      accessToken: value.access_token,
      issuedAtMs: askedAtMs,
      expiresAtMs: askedAtMs + value.expires_in * 1000,
    };
  } catch (error) {
    if (!(error instanceof ServiceError) || error.kind !== 'rejected') throw error;
    // Another refusal, such as a gateway's 404, concerns this request, not what the token was needed for.
    throw error.as(error.code === 'invalid_client' ? 'credentials' : 'contract');
  }
}
