/** Adds to a page: current content, plots, and times in the reader’s zone. */
import { Idiomorph } from './idiomorph.js';

const ANSWER_WITHIN_MS = 10_000;
const { server = '', every = '' } = document.body.dataset;

/** @param {Document} page */
function localize(page) {
  /** @type {NodeListOf<HTMLTimeElement>} */
  const times = page.querySelectorAll('time[data-zone], time[data-ago]');
  for (const it of times) {
    // Swedish writes 2026-11-21 18:26:05.
    const local = new Date(it.dateTime).toLocaleString('sv');
    if (it.dataset['zone'] !== undefined) it.textContent = local;
    it.title = `${local} (${it.dateTime})`;
  }
  for (const it of page.querySelectorAll('[data-time-zone]'))
    it.textContent = Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/**
 * Inputs that the reader has changed; new content does not undo it.
 * @type {WeakSet<EventTarget>}
 */
const edited = new WeakSet();
document.addEventListener('input', ({ target }) => {
  if (target !== null) edited.add(target);
});

/** @param {string} text the page as the server sends it */
function show(text) {
  const page = new DOMParser().parseFromString(text, 'text/html');
  localize(page);
  void Idiomorph.morph(document.body, page.body, {
    callbacks: {
      beforeNodeMorphed: (node) => !edited.has(node),
      // The script has added plots, and the reader has opened details.
      beforeNodeRemoved: (node) => !(node instanceof HTMLElement && node.matches('.uplot')),
      beforeAttributeUpdated: (name) => name !== 'open',
    },
  });
  void draw();
}

/** The page of a fault, too, which says why the values cannot be shown. @throws if the answer is no page. */
async function currentPage() {
  const answer = await fetch(location.href, {
    headers: { accept: 'text/html' },
    signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
  });
  // The session has ended: the page is the sign-in form.
  if (answer.redirected && new URL(answer.url).pathname === '/login') location.reload();
  const isPage = (answer.headers.get('content-type') ?? '').startsWith('text/html');
  if (!isPage) throw new Error('not shown');
  return answer.text();
}

/** The next page that is shown replaces these words. */
function distrust() {
  const box = document.createElement('p');
  box.className = 'problem';
  box.textContent = `${server} does not answer. The values below are old.`;
  document.getElementById('message')?.replaceChildren(box);
  const badge = document.querySelector('header .state');
  const headline = document.querySelector('#now h1');
  if (badge !== null) {
    badge.className = 'state stale';
    badge.textContent = 'No answer';
  }
  if (headline !== null) headline.textContent = 'Do not rely on these values';
}

async function look() {
  if (document.hidden) return;
  try {
    show(await currentPage());
  } catch {
    if (document.body.classList.contains('old')) return;
    document.body.classList.add('old');
    distrust();
  }
}

document.addEventListener('click', ({ target }) => {
  /** @type {HTMLElement | null} */
  const button = target instanceof Element ? target.closest('[data-copy]') : null;
  const sample = document.getElementById(button?.dataset['copy'] ?? '');
  if (button === null || sample === null) return;
  const { clipboard } = /** @type {{ clipboard?: Clipboard }} */ (navigator);
  if (clipboard === undefined) {
    // Over plain http, only the reader can copy.
    getSelection()?.selectAllChildren(sample);
    return;
  }
  void clipboard.writeText(sample.textContent).then(() => (button.textContent = 'Copied'));
});

/**
 * @typedef {{ isBar: boolean, times: number[], marks: { time: number, name: string }[], series: { label: string, look: string, values: (number | null)[] }[] }} Plot
 */
/** @type {WeakMap<HTMLElement, string>} */
let drawn = new WeakMap();

/** Draws the changed plots. */
async function draw() {
  for (const it of document.querySelectorAll('figure:not([data-plot]) .uplot')) it.remove();
  /** @type {NodeListOf<HTMLElement>} */
  const figures = document.querySelectorAll('[data-plot]');
  const changed = [...figures].filter((it) => drawn.get(it) !== it.dataset['plot']);
  if (changed.length === 0) return;
  const { default: uPlot } = await import('./uplot.js');
  for (const figure of changed) {
    const json = figure.dataset['plot'] ?? '';
    drawn.set(figure, json);
    figure.querySelector('.uplot')?.remove();
    const { isBar, times, marks, series } = /** @type {Plot} */ (JSON.parse(json));
    const style = getComputedStyle(figure);
    /** @param {string} name */
    const colour = (name) => style.getPropertyValue(`--pico-${name}`);
    const axis = {
      stroke: colour('muted-color'),
      grid: { stroke: colour('muted-border-color'), width: 1 },
      ticks: { show: false },
    };
    // Without an outline, a zero is not drawn.
    const bars = isBar ? { paths: uPlot.paths.bars?.({ size: [0.8] }), width: 0 } : {};
    /** @param {import('./uplot.js').default} plot */
    const drawMarks = (plot) => {
      const { ctx, bbox } = plot;
      ctx.save();
      ctx.strokeStyle = colour('muted-color');
      for (const { time, name } of marks) {
        const x = Math.round(plot.valToPos(time, 'x', true));
        ctx.setLineDash(name === 'start' ? [] : [4, 4]);
        ctx.beginPath();
        ctx.moveTo(x, bbox.top);
        ctx.lineTo(x, bbox.top + bbox.height);
        ctx.stroke();
      }
      ctx.restore();
    };
    const clock = '{HH}:{mm}';
    new uPlot(
      {
        width: figure.clientWidth,
        height: 130,
        hooks: { drawAxes: [drawMarks] },
        cursor: { sync: { key: 'day' }, drag: { x: false } },
        scales: { y: { range: (_, __, most) => [0, Math.max(1, most * 1.05)] } },
        axes: [
          { ...axis, values: clock, size: 26 },
          { ...axis, size: 44 },
        ],
        series: [
          { value: clock },
          ...series.map(({ label, look }) => ({
            ...bars,
            label,
            stroke: colour(look),
            fill: isBar ? colour(look) : '',
            points: { show: !isBar, size: 3, fill: colour(look) },
          })),
        ],
      },
      [times, ...series.map(({ values }) => values)],
      figure,
    );
  }
}

addEventListener('resize', () => {
  drawn = new WeakMap();
  void draw();
});

localize(document);
void draw();
const lookLater = () => void setTimeout(() => void look().then(lookLater), Number(every));
lookLater();
