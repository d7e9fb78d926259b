/** What a plot shows at a place stands beneath it: under the pointer, or where the arrow keys have led. */
import { local } from './times.js';

/** @typedef {SVGSVGElement & { readonly dataset: Readonly<Record<'from' | 'step' | 'names' | 'figures' | 'notes', string>> }} Plot */

/** @type {{ readonly id: string, readonly at: number, readonly byPointer: boolean } | null} */
let chosen = null;

const PLOTS = 'svg[data-figures]';
/** @type {Readonly<Record<string, number>>} */
const STEPS = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };

/** @param {Plot} plot */
const countOf = (plot) => plot.dataset.figures.split(';').length;

/**
 * @param {EventTarget | null} target
 * @returns {Plot | null}
 */
const plotOf = (target) => (target instanceof Element ? target.closest(PLOTS) : null);

/** Also after the plots were drawn anew. */
export function tellPlots() {
  /** @type {NodeListOf<Plot>} */
  const plots = document.querySelectorAll(PLOTS);
  for (const plot of plots) {
    const box = /** @type {HTMLElement} */ (plot.nextElementSibling);
    const cursor = /** @type {SVGLineElement} */ (plot.querySelector('.cursor'));
    const at = chosen?.id === plot.id ? Math.max(0, Math.min(countOf(plot) - 1, chosen.at)) : null;
    box.hidden = at === null;
    cursor.classList.toggle('on', at !== null);
    if (at === null) continue;
    const x = ((at + 0.5) / countOf(plot)) * plot.viewBox.baseVal.width;
    for (const end of ['x1', 'x2']) cursor.setAttribute(end, String(x));
    box.textContent = wordsAt(plot, at);
  }
}

/**
 * @param {Plot} plot
 * @param {number} at
 */
function wordsAt({ dataset: { from, step, names, figures, notes } }, at) {
  const begin = local(new Date(Number(from) + at * Number(step))).slice(5, 16);
  const words = names.split('|');
  const parts = (figures.split(';')[at] ?? '').split('|').map((figure, i) => `${words[i] ?? ''} ${figure}`);
  for (const note of notes === '' ? [] : notes.split(';')) {
    const [place, what = ''] = note.split('|');
    if (Number(place) === at) parts.push(what);
  }
  return `${begin}: ${parts.join(', ')}`;
}

document.addEventListener('pointermove', ({ target, clientX }) => {
  const plot = plotOf(target);
  if (plot === null) {
    // What the keyboard has chosen stays.
    if (chosen?.byPointer !== true) return;
    chosen = null;
  } else {
    const { left, width } = plot.getBoundingClientRect();
    chosen = { id: plot.id, at: Math.floor(((clientX - left) / width) * countOf(plot)), byPointer: true };
  }
  tellPlots();
});

document.addEventListener('focusin', ({ target }) => {
  const plot = plotOf(target);
  if (plot === null && chosen?.byPointer !== false) return;
  chosen =
    plot === null
      ? null
      : { id: plot.id, at: chosen?.id === plot.id ? chosen.at : countOf(plot) - 1, byPointer: false };
  tellPlots();
});

document.addEventListener('keydown', (event) => {
  const plot = plotOf(event.target);
  const by = STEPS[event.key];
  if (plot === null || chosen === null || by === undefined) return;
  event.preventDefault();
  const at = Math.max(0, Math.min(countOf(plot) - 1, chosen.at + by));
  chosen = { id: plot.id, at, byPointer: false };
  tellPlots();
});
