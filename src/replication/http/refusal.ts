/** Refusals by a primary, or by another program at its address, as errors with a remedy. */
import type { Dispatcher } from 'undici';
import { z } from 'zod';
import { CannotFollow, TransportError } from '../transport.ts';

interface Refusal extends Pick<Dispatcher.ResponseData, 'statusCode' | 'headers'> {
  readonly text: string;
}

interface Asked {
  readonly url: string;
  readonly hasToken: boolean;
}

/** Part of how it answers what it does not have. */
const OF_PUBLIC_LISTENER = 'this listener has POST /webhooks';

const refusalSchema = z.object({ error: z.string(), error_description: z.string() });

export function refusedBy({ url, hasToken }: Asked, refusal: Refusal): TransportError | CannotFollow {
  const { statusCode, headers } = refusal;
  if (statusCode >= 300 && statusCode < 400) {
    const to = shown(headers['location']);
    return new TransportError(
      `${url} redirects${to === null ? '' : ` to ${to}`}, which is not followed: set LOG_URL to the address of the primary itself`,
    );
  }
  if (statusCode === 401) {
    const problem = hasToken ? 'refuses the token' : 'asks for a token';
    return new TransportError(`${url} ${problem}: set LOG_TOKEN to the OPS_TOKEN of the primary`);
  }
  const told = refusalSchema.safeParse(jsonOf(refusal.text)).data;
  if (statusCode === 403) {
    const why = told === undefined ? '' : ` (${told.error_description})`;
    return new TransportError(
      `${url} refuses access${why}: set OPS_TOKEN on the primary, and LOG_TOKEN here to the same`,
    );
  }
  if (told === undefined) return anotherProgram(url, refusal);
  if (told.error === 'snapshot_needed') {
    return new CannotFollow(`${url} cannot be followed from here: ${told.error_description}`, 'snapshot');
  }
  if (statusCode === 404 && told.error_description.includes(OF_PUBLIC_LISTENER)) {
    return new TransportError(
      `${url} is the public listener of a stock-mirror, which only takes webhooks: set LOG_URL to the private one, at OPS_HOST and OPS_PORT of the primary`,
    );
  }
  if (statusCode === 404 || statusCode === 400) {
    return new TransportError(
      `${url} is a stock-mirror that cannot be followed by this one (${told.error_description}): install the same version on both`,
    );
  }
  return new TransportError(`${url} refuses: ${told.error_description}`);
}

function anotherProgram(url: string, { statusCode, headers }: Refusal): TransportError {
  const type = headers['content-type'];
  const what = typeof type === 'string' ? `${statusCode}, ${type}` : String(statusCode);
  return new TransportError(
    `another program, or a proxy, answers at ${url} (${what}): set LOG_URL to the private listener of the primary`,
  );
}

const UNTRUSTED =
  /^(?:SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_\w+|CERT_\w+|ERR_TLS_CERT_\w+)$/;

export function unreachable(url: string, error: unknown): TransportError {
  const { code, message } = error as { readonly code?: string; readonly message: string };
  return new TransportError(`${url} cannot be reached: ${problemOf(code, message)}`, { cause: error });
}

function problemOf(code: string | undefined, message: string): string {
  if (code === undefined) return message;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return `its certificate is for another name (${code}): name the primary in LOG_URL as its certificate does`;
  }
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') {
    return `its certificate is not valid at present (${code}): renew it, or set the clock of this machine`;
  }
  if (UNTRUSTED.test(code)) {
    return `its certificate is not trusted (${code}): name the authority that issued it in LOG_CA_FILE`;
  }
  if (code === 'EPROTO' || code.startsWith('ERR_SSL')) {
    return `it does not speak TLS (${code}): see whether LOG_URL should begin with http://`;
  }
  if (code.startsWith('HPE_')) {
    return `it does not speak HTTP (${code}): see whether LOG_URL should begin with https://`;
  }
  return code;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What a stranger writes is not shown whole: it may hold what was sent. */
function shown(location: string | string[] | undefined): string | null {
  if (typeof location !== 'string' || !URL.canParse(location)) return null;
  const { origin, pathname } = new URL(location);
  return origin + pathname;
}
