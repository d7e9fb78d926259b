/** 1 MB: the store's limit for request bodies ("Limits"). Webhooks and requests to a mirror have the same. */
export const MAX_BODY_BYTES = 1 << 20;
export const BODY_TOO_LARGE = 'the body is larger than 1 MB';
