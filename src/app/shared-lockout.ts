/**
 * A credential lockout holds for all replicas: whichever leads, a wrong secret is tried once. The token itself never
 * leaves its machine.
 */
import { randomBytes, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import { z } from 'zod';
import type { Config } from '../config/config.ts';
import { STATE_KEYS } from '../replication/state-keys.ts';
import { TransportError, type Notes } from '../replication/transport.ts';
import type { TokenFile } from '../store-api/token/token-file.ts';

interface LockoutArgs {
  readonly state: Notes;
  readonly service: Pick<Config['service'], 'baseUrl' | 'clientId' | 'clientSecret'>;
}

const noteSchema = z.object({
  salt: z.string(),
  /** Of the credentials that were refused: a lockout ends when they change. */
  fingerprint: z.string(),
  latch: z.object({ atMs: z.number(), description: z.string(), requestId: z.string().nullable() }),
});

const derive = promisify(scrypt) as (secret: string, salt: Buffer, length: number) => Promise<Buffer>;

/** @param file of this machine, which decides alone while the engine cannot be reached. */
export function sharedLockout(file: TokenFile, { state, service }: LockoutArgs): TokenFile {
  let known: { readonly salt: string; readonly fingerprint: string } | null = null;
  const fingerprint = async (salt: string): Promise<string> => {
    if (known?.salt === salt) return known.fingerprint;
    const credentials = `${service.baseUrl}\n${service.clientId}\n${service.clientSecret.reveal()}`;
    const derived = await derive(credentials, Buffer.from(salt, 'hex'), 32);
    known = { salt, fingerprint: derived.toString('hex') };
    return known.fingerprint;
  };
  const ours = async (): Promise<z.infer<typeof noteSchema> | null> => {
    const note = noteSchema.safeParse(await state.get(STATE_KEYS.lockout));
    return note.success && note.data.fingerprint === (await fingerprint(note.data.salt)) ? note.data : null;
  };
  return {
    async read() {
      const own = await file.read();
      let found;
      try {
        found = await ours();
      } catch (error) {
        if (!(error instanceof TransportError)) throw error;
        return own;
      }
      if (found !== null) return { token: null, pause: own?.pause ?? null, latch: found.latch };
      return own === null ? null : { ...own, latch: null };
    },
    async write(next) {
      await file.write(next);
      if (next.latch === null) {
        // A lockout of other credentials stays.
        if ((await ours()) !== null) await state.delete(STATE_KEYS.lockout);
        return;
      }
      const salt = randomBytes(16).toString('hex');
      await state.put(STATE_KEYS.lockout, { salt, fingerprint: await fingerprint(salt), latch: next.latch });
    },
  };
}

/** @returns null when it is not the engine that failed. */
export function whyNotShared(error: unknown): string | null {
  if (!(error instanceof TransportError)) return null;
  return 'the credential lockout could not be written to the engine: the next lead may try refused credentials once more, or wait until its next token';
}
