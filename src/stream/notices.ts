/** Messages of receivers to mirrors, besides deliveries: reasons to read the store. */
import { z } from 'zod';
import { MISSED_WHYS } from '../core/input.ts';
import { LATEST_MS } from '../core/limits.ts';

const noticeSchema = z.object({
  kind: z.literal('missed'),
  why: z.enum(MISSED_WHYS),
  sinceMs: z.number().nullable(),
  untilMs: z.number(),
  variantIds: z.array(z.string()).readonly().nullable(),
});

/** An input of the mirror without its time, which each mirror adds. */
export type Notice = z.infer<typeof noticeSchema>;

export const noticeBody = (notice: Notice): Uint8Array => Buffer.from(JSON.stringify(notice));

/** A notice that this version cannot read counts as the one that asks for most: everything is read. */
export function readNotice(body: Uint8Array): Notice {
  try {
    return noticeSchema.parse(JSON.parse(Buffer.from(body).toString()));
  } catch {
    return {
      kind: 'missed',
      why: 'stream_gap',
      sinceMs: null,
      untilMs: LATEST_MS,
      variantIds: null,
    };
  }
}
