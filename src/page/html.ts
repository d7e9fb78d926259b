import type { html } from 'hono/html';

/** A piece of markup: every value in it was escaped. */
export type Html = ReturnType<typeof html>;
