/** Shares one token among processes, and keeps a lockout over restarts (docs/store-api.md#authentication). */
import { randomUUID } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { z } from 'zod';
import { messageOf } from '../../platform/thrown.ts';
import { accessTokenSchema } from '../contract/schemas.ts';

/** The store refused the credentials: request no token until they change or an operator lifts the lockout. */
const lockoutSchema = z
  .object({ atMs: z.number(), description: z.string(), requestId: z.string().nullable() })
  .nullable();

const tokenStateSchema = z.object({
  token: z
    .object({ accessToken: accessTokenSchema, issuedAtMs: z.number(), expiresAtMs: z.number() })
    .nullable(),
  lockout: lockoutSchema,
  /** No token request between these two times, at the store's request. */
  pause: z.object({ fromMs: z.number(), untilMs: z.number() }).nullable(),
});

/** Epoch ms. */
export type TokenState = z.infer<typeof tokenStateSchema>;
export type IssuedToken = NonNullable<TokenState['token']>;
export type Lockout = NonNullable<TokenState['lockout']>;

export interface TokenFile {
  /** null if missing, damaged, or written with other credentials. */
  read(): Promise<TokenState | null>;
  write(state: TokenState): Promise<void>;
}

const fileSchema = z.object({ version: z.literal(1), fingerprint: z.string(), state: tokenStateSchema });

/**
 * Ignores a state of another base URL, client id or secret, so changing one ends a lockout. The file (mode 0600) holds
 * a fingerprint keyed by the client secret, not the secret. @param path in a folder that exists.
 */
export function createTokenFile(path: string, fingerprint: string): TokenFile {
  return {
    async read() {
      const text = await readFile(path, 'utf8').catch((error: unknown) => {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
        throw error;
      });
      try {
        const file = fileSchema.parse(JSON.parse(text));
        return file.fingerprint === fingerprint ? file.state : null;
      } catch {
        return null;
      }
    },
    async write(state) {
      // Readers see the old file or the new one.
      const draft = `${path}.${process.pid}.${randomUUID()}`;
      try {
        await writeFile(draft, `${JSON.stringify({ version: 1, fingerprint, state })}\n`, {
          mode: 0o600,
          flush: true,
        });
        await rename(draft, path);
      } catch (error) {
        await rm(draft, { force: true });
        throw new Error(`the token file ${path} cannot be written: ${messageOf(error)}`, { cause: error });
      }
    },
  };
}

/** For a program that shares its token with no other and forgets it at its end. */
export function createTokenMemory(): TokenFile {
  let kept: TokenState | null = null;
  return {
    read: async () => Promise.resolve(kept),
    write: async (state) => Promise.resolve(void (kept = state)),
  };
}
