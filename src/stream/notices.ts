/** Messages of receivers to mirrors, besides deliveries: reasons to read the store. */
import { z } from 'zod';

const noticeSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('downtime'), downSinceMs: z.number().nullable() }),
  z.object({
    kind: z.literal('request_reads'),
    reason: z.literal('not_stored'),
    productIds: z.array(z.string()).readonly(),
    variantIds: z.array(z.string()).readonly(),
  }),
  z.object({ kind: z.literal('due'), what: z.literal('loss') }),
]);

/** An input of the mirror without its time, which each mirror adds. */
export type Notice = z.infer<typeof noticeSchema>;

export const noticeBody = (notice: Notice): Uint8Array => Buffer.from(JSON.stringify(notice));

/** A notice that this version cannot read counts as the one that asks for most: everything is read. */
export function readNotice(body: Uint8Array): Notice {
  try {
    return noticeSchema.parse(JSON.parse(Buffer.from(body).toString()));
  } catch {
    return { kind: 'downtime', downSinceMs: null };
  }
}
