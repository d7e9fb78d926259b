/** Whether the store's webhooks reach this mirror (docs/operating.md#proof-of-the-way-in). */
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import type { ReceiverReport, RefusalCount } from '../../inbox/report.ts';

export const OF_THE_STORE = ['wrong_signature', 'wrong_address'] as const;

export interface RefusedRequests extends RefusalCount {
  readonly reason: (typeof OF_THE_STORE)[number];
}

/** Refused since the last accepted webhook, for what the store itself may have sent. */
export function refusedSince({ accepted, refused }: ReceiverReport): RefusedRequests[] {
  return OF_THE_STORE.flatMap((reason) => {
    const found = refused[reason];
    return found === undefined || found.lastAtMs < (accepted.lastAtMs ?? 0) ? [] : [{ reason, ...found }];
  });
}

/** Requests that name variants of this store: strangers do not know them. */
export function lookLikeTheStore(
  refused: readonly RefusedRequests[],
  isKnown: (variantId: string) => boolean,
): RefusedRequests | null {
  return refused.find(({ variantIds }) => variantIds.some(isKnown)) ?? null;
}

const HASH_BYTES = 16;
const hash = promisify<string, Buffer, number, Buffer>(scrypt);

/** @returns a text from which nobody can guess the secret, with a new salt. */
export async function fingerprintOf(secret: string, salt = randomBytes(HASH_BYTES)): Promise<string> {
  return `${salt.toString('hex')}:${(await hash(secret, salt, HASH_BYTES)).toString('hex')}`;
}

export async function isFingerprintOf(secret: string, fingerprint: string): Promise<boolean> {
  const salt = Buffer.from(fingerprint.split(':')[0] ?? '', 'hex');
  const [own, given] = [await fingerprintOf(secret, salt), fingerprint].map((text) => Buffer.from(text));
  return own !== undefined && given?.length === own.length && timingSafeEqual(own, given);
}
