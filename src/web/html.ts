import type { html } from 'hono/html';

/** Markup with escaped values. */
export type Html = ReturnType<typeof html>;
