/** The client of a mirror's feed (docs/feed-client.md). */
export { FeedError, type FeedErrorKind } from './feed/errors.ts';
export { follow, type FollowOptions } from './feed/follow.ts';
export type {
  Batch,
  Change,
  ChangesBatch,
  Position,
  RowKey,
  SellableRow,
  SnapshotBatch,
  StartOverReason,
  Trust,
  TrustBatch,
  UntrustedRow,
} from './feed/model.ts';
