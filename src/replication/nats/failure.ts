/** Errors of the NATS client as errors of this program, with a remedy. */
import { TransportError } from '../transport.ts';

/** Codes of JetStream's API. */
export const WRONG_LAST_SEQUENCE = new Set([10071, 10164]);
const STREAM_NOT_FOUND = 10059;
const NO_PLACE = new Set([10005, 10074]);
const NO_RESOURCES = new Set([10023, 10047, 10077]);

/** Of an answer by JetStream's API; null: it is none. */
export function apiCodeOf(error: unknown): number | null {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'number') return null;
  return /^(JetStreamApi|StreamNotFound|ConsumerNotFound)Error$/.test(error.name) ? error.code : null;
}

/** The stream is not there, as far as whoever answered knows. */
export function isStreamMissing(error: unknown): boolean {
  if (error instanceof TransportError) return isStreamMissing(error.cause);
  return apiCodeOf(error) === STREAM_NOT_FOUND || isNobodyThere(error);
}

function isNobodyThere(error: unknown): boolean {
  return error instanceof Error && error.name === 'JetStreamNotEnabled';
}

/** @param what was being done, as the beginning of a sentence. */
export function transportError(what: string, error: unknown): TransportError {
  if (error instanceof TransportError) return error;
  return new TransportError(`${what}: ${reasonOf(error)}`, { cause: error });
}

export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = apiCodeOf(error);
  if (code !== null && NO_PLACE.has(code)) {
    return `there are fewer servers than LOG_REPLICAS asks for (${error.message}): start as many NATS servers as one cluster, all with JetStream, or set LOG_REPLICAS=1; where they all run, and were first started in the same moment, restart one after the other`;
  }
  if (code !== null && NO_RESOURCES.has(code)) {
    return `the engine has no room left (${error.message}): give JetStream more disk (max_file)`;
  }
  if (isNobodyThere(error)) {
    return 'the engine has no leader for it at present, or runs without JetStream: start its other servers, and see that their configuration has a jetstream section';
  }
  if (error.name === 'TimeoutError') return 'the engine does not answer in time';
  if (/Authorization|Authentication/i.test(error.name)) {
    return `the engine refuses the credentials (${error.message}): check LOG_USER and LOG_PASSWORD, or LOG_TOKEN`;
  }
  const { cause } = error;
  const because = cause instanceof Error && cause.message !== error.message ? ` (${cause.message})` : '';
  return `${error.message}${because}`;
}
