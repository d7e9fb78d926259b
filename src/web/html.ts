import type { html } from 'hono/html';

/** A piece of markup whose values are all escaped. */
export type Html = ReturnType<typeof html>;
