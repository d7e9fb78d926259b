/** The shapes of the mirror's answers, checked where they arrive. Unknown fields pass. */
import { z } from 'zod';
import { FeedError } from './errors.ts';
import type { Change, SellableRow, Trust } from './model.ts';

const key = {
  variant_id: z.string(),
  warehouse_id: z.string().nullable(),
};

const sellableRow = z.looseObject({
  ...key,
  available_qty: z.number(),
  trusted: z.number(),
  why_not: z.string().nullable(),
  change_seq: z.int(),
});

const change = z.looseObject({
  ...key,
  seq: z.int(),
  old_qty: z.number().nullable(),
  new_qty: z.number().nullable(),
});

const trust = z.looseObject({
  state: z.string(),
  cause: z.string().nullable(),
  as_of: z.number(),
  last_seq: z.int(),
  untrusted: z.array(z.looseObject({ ...key, why_not: z.string() })).nullable(),
  untrusted_count: z.number().nullable(),
});

/** With the last number that its rows contain. */
export type TrustAnswer = Trust & { readonly last_seq: number };

const sellablePage = z.looseObject({
  epoch: z.string(),
  /** Epoch ms, mirror's clock. */
  as_of: z.number(),
  last_seq: z.int(),
  sellable: z.array(sellableRow),
  next: z.string().nullable(),
  has_more: z.boolean(),
});

export type SellablePage = z.infer<typeof sellablePage> & { readonly sellable: readonly SellableRow[] };

const changesPage = z.looseObject({
  epoch: z.string(),
  changes: z.array(change),
  next: z.int(),
  has_more: z.boolean(),
});

export type ChangesPage = z.infer<typeof changesPage> & { readonly changes: readonly Change[] };

const status = z.looseObject({
  epoch: z.string().optional(),
  last_full_sync_at: z.number().nullish(),
});

const startOver = z.looseObject({ error: z.enum(['epoch_changed', 'pruned', 'ahead']) });

export const toSellablePage = (json: unknown): SellablePage =>
  checked(sellablePage, json, 'a page of stock') as SellablePage;

export const toChangesPage = (json: unknown): ChangesPage =>
  checked(changesPage, json, 'a page of changes') as ChangesPage;

export const toChange = (json: unknown): Change => checked(change, json, 'a change') as unknown as Change;

export const toTrust = (json: unknown): TrustAnswer => checked(trust, json, 'a trust object');

export const toStartOver = (json: unknown) => checked(startOver, json, 'a reason to start over').error;

/** @returns whether the mirror has read the whole store. */
export const hasReadAll = (json: unknown): boolean =>
  typeof checked(status, json, 'a status').last_full_sync_at === 'number';

function checked<T>(shape: z.ZodType<T>, json: unknown, what: string): T {
  const { success, data, error } = shape.safeParse(json);
  if (success) return data;
  throw new FeedError('malformed', `the answer is not ${what} of a mirror: ${z.prettifyError(error)}`);
}
