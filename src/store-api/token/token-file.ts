/**
 * The file through which processes share one token, and in which a credential lockout outlasts restarts.
 * docs/store-api.md#authentication, 8. It lies beside the database, never in it: other programs read the database.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { z } from 'zod';
import { accessTokenSchema } from '../contract/schemas.ts';

const tokenStateSchema = z.object({
  token: z
    .object({ accessToken: accessTokenSchema, issuedAtMs: z.number(), expiresAtMs: z.number() })
    .nullable(),
  /** The store refused the credentials; no token is requested until they change or an operator lifts the lockout. */
  latch: z.object({ atMs: z.number(), description: z.string(), requestId: z.string().nullable() }).nullable(),
  /** The store asked for no token request between these two times. */
  pause: z.object({ fromMs: z.number(), untilMs: z.number() }).nullable(),
});

/** What is known about the token of one set of credentials. Times are epoch ms. */
export type TokenState = z.infer<typeof tokenStateSchema>;
export type IssuedToken = NonNullable<TokenState['token']>;

export interface TokenFile {
  /** The state of these credentials; null when there is none, or the file belongs to others or is damaged. */
  read(): Promise<TokenState | null>;
  write(state: TokenState): Promise<void>;
}

interface TokenFileOptions {
  /** The folder must exist. */
  readonly path: string;
  readonly baseUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

const fileSchema = z.object({ version: z.literal(1), fingerprint: z.string(), state: tokenStateSchema });

const OTHERS = 0o077;

/**
 * A state counts only with the base URL, client id and secret it was written with, so changing any of them ends a
 * lockout. The secret itself is not in the file, only a fingerprint that it keys.
 *
 * `read` and `write` reject when the file system does (a missing file is not an error). The file has mode 0600; wider
 * permissions are narrowed.
 */
export function createTokenFile({ path, baseUrl, clientId, clientSecret }: TokenFileOptions): TokenFile {
  const fingerprint = createHmac('sha256', clientSecret)
    .update(JSON.stringify([baseUrl, clientId]))
    .digest('hex');
  return {
    async read() {
      const file = parseFile(await readPrivate(path));
      return file?.fingerprint === fingerprint ? file.state : null;
    },
    write: (state) => replacePrivate(path, `${JSON.stringify({ version: 1, fingerprint, state })}\n`),
  };
}

/** For a program that shares its token with no other, and forgets it when it ends. */
export function createTokenMemory(): TokenFile {
  let kept: TokenState | null = null;
  return {
    read: () => Promise.resolve(kept),
    write: (state) => {
      kept = state;
      return Promise.resolve();
    },
  };
}

function parseFile(text: string | null): z.infer<typeof fileSchema> | null {
  if (text === null) return null;
  try {
    return fileSchema.parse(JSON.parse(text));
  } catch {
    // Damaged, or written by another program: treated as absent, and the next write replaces it.
    return null;
  }
}

async function readPrivate(path: string): Promise<string | null> {
  let handle;
  try {
    handle = await open(path, constants.O_RDONLY);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  try {
    const { mode } = await handle.stat();
    if ((mode & OTHERS) !== 0) await handle.chmod(0o600);
    return await handle.readFile('utf8');
  } finally {
    await handle.close();
  }
}

/** A reader sees the old file or the new one, and so does the next start after a power cut. */
async function replacePrivate(path: string, text: string): Promise<void> {
  const draft = `${path}.${process.pid}.${randomBytes(6).toString('hex')}`;
  try {
    const handle = await open(draft, 'wx', 0o600);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
