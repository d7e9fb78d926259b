/** Times as the reader’s own clock shows them. The server writes them in UTC, for pages without scripts. */

/** @param {number} value */
const two = (value) => String(value).padStart(2, '0');

/** @param {Date} at */
const clock = (at) => `${two(at.getHours())}:${two(at.getMinutes())}`;

/** @param {Date} at */
export const local = (at) =>
  `${String(at.getFullYear())}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${clock(at)}:${two(at.getSeconds())}`;

/** @param {Date} at */
const utc = (at) => `${at.toISOString().slice(0, 19).replace('T', ' ')} UTC`;

/** @param {Document} page */
export function localize(page) {
  /** @type {NodeListOf<HTMLTimeElement>} */
  const times = page.querySelectorAll('time[data-zone], time[data-ago]');
  for (const it of times) {
    const at = new Date(it.dateTime);
    if (it.dataset['zone'] !== undefined) it.textContent = local(at);
    it.title = (it.dataset['zone'] === undefined ? `${local(at)}, ` : '') + utc(at);
  }
  /** @type {NodeListOf<SVGTextElement>} */
  const days = page.querySelectorAll('text[data-zone]');
  for (const it of days) it.textContent = local(new Date(it.dataset['zone'] ?? '')).slice(0, 16);
  /** @type {NodeListOf<SVGTextElement>} */
  const hours = page.querySelectorAll('text[data-clock]');
  for (const it of hours) it.textContent = clock(new Date(it.dataset['clock'] ?? ''));

  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  const offsetMin = -new Date().getTimezoneOffset();
  const ahead = `${two(Math.floor(Math.abs(offsetMin) / 60))}:${two(Math.abs(offsetMin) % 60)}`;
  for (const it of page.querySelectorAll('[data-time-zone]'))
    it.textContent = `${timeZone} (UTC${offsetMin < 0 ? '−' : '+'}${ahead})`;
}
