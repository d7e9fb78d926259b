/** This many numbers of the feed, as a power of two, share a part of the index by variant. */
export const SHARE_BITS = 13;
