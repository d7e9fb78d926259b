/**
 * 1 MB: the store's limit for request bodies ("Limits"). Webhooks and requests to a mirror have the same. These files must
 * allow as much: deploy/proxy/nginx.conf (`client_max_body_size`), deploy/proxy/Caddyfile and
 * examples/several-stores/Caddyfile (`max_size`), and deploy/several-machines/nats.conf (`max_payload`, with headers).
 */
export const MAX_BODY_BYTES = 1 << 20;
export const BODY_TOO_LARGE = 'the body is larger than 1 MB';
