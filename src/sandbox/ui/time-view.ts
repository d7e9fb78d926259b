import { html } from 'hono/html';
import type { Html } from '../../web/html.ts';

/** The time of day to the millisecond, in the machine's time zone, which is also the reader's. */
export function timeView(atMs: number): Html {
  const at = new Date(atMs);
  const [hours, minutes, seconds] = [at.getHours(), at.getMinutes(), at.getSeconds()].map((part) =>
    String(part).padStart(2, '0'),
  );
  const millis = String(at.getMilliseconds()).padStart(3, '0');
  return html`<time datetime="${at.toISOString()}">${hours}:${minutes}:${seconds}.${millis}</time>`;
}
