/** Keeps a refusal of the credentials in the stream too, so that the other hosts do not try the same secret. */
import { z } from 'zod';
import { lockoutSchema, type TokenFile } from '../store-api/token/token-file.ts';
import type { Engine } from './engine.ts';

const noteSchema = z.object({ lockout: lockoutSchema });

/** @param fingerprint of the credentials: others have other notes. @param engineNow null if not reached yet. */
export function shareLockout(
  file: TokenFile,
  fingerprint: string,
  engineNow: () => Engine | null,
): TokenFile {
  const subject = `credentials.${fingerprint}` as const;
  /** When the last refusal in the stream was; null if there is none, or it was lifted. */
  let notedAtMs: number | null = null;
  return {
    async read() {
      const state = await file.read();
      const found = await engineNow()
        ?.last(subject)
        .then(([note]) => note && noteSchema.parse(JSON.parse(Buffer.from(note.body).toString())))
        // Without the stream, or with a note that this version cannot read, each host asks the store.
        .catch(() => undefined);
      if (found === undefined) return state;
      const { lockout } = found;
      notedAtMs = lockout?.atMs ?? null;
      return { token: null, pause: null, ...state, lockout };
    },
    async write(state) {
      await file.write(state);
      const { lockout } = state;
      if ((lockout?.atMs ?? null) === notedAtMs) return;
      const noted = engineNow()?.publish(subject, Buffer.from(JSON.stringify({ lockout })));
      await noted?.then(
        () => (notedAtMs = lockout?.atMs ?? null),
        () => undefined,
      );
    },
  };
}
