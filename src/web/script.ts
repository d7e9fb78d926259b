/**
 * What scripts add to a page: times in the reader's zone, live updates, and forms that post without leaving the page.
 * The script reloads the same page and takes over the parts marked `data-live`, so that only the server renders: such a
 * part is replaced (`whole`: it also flashes), its `rows` are added and removed by id, and a `form` takes new values
 * unless it is being edited.
 */
export const script = `const answerWithinMs = 10000;
const { server, silent, every, refresh } = document.body.dataset;
const message = document.getElementById('message');
// The content last received for an element: changes that browser extensions make to it do not count.
const received = new WeakMap();
let posting = false;
let lastSeen = '';
let isOld = false;

const two = (value) => String(value).padStart(2, '0');
const clock = (at) => two(at.getHours()) + ':' + two(at.getMinutes());
const local = (at) =>
  at.getFullYear() + '-' + two(at.getMonth() + 1) + '-' + two(at.getDate()) + ' ' + clock(at) + ':' + two(at.getSeconds());
const utc = (at) => at.toISOString().slice(0, 19).replace('T', ' ') + ' UTC';

function localize(root) {
  for (const it of root.querySelectorAll('time[data-zone], time[data-ago]')) {
    const at = new Date(it.dateTime);
    if (it.dataset.zone !== undefined) it.textContent = local(at);
    it.title = (it.dataset.zone === undefined ? local(at) + ', ' : '') + utc(at);
  }
  for (const it of root.querySelectorAll('text[data-zone]')) it.textContent = local(new Date(it.dataset.zone)).slice(0, 16);
  for (const it of root.querySelectorAll('text[data-clock]')) it.textContent = clock(new Date(it.dataset.clock));
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  const offset = -new Date().getTimezoneOffset();
  const sign = offset < 0 ? '−' : '+';
  const hours = two(Math.floor(Math.abs(offset) / 60)) + ':' + two(Math.abs(offset) % 60);
  for (const it of root.querySelectorAll('[data-time-zone-name]')) it.value = timeZone;
  for (const it of root.querySelectorAll('[data-time-zone]')) it.textContent = timeZone + ' (UTC' + sign + hours + ')';
}

const parse = (text) => {
  const page = new DOMParser().parseFromString(text, 'text/html');
  localize(page);
  return page;
};

/** The reader is typing in it, or has selected text in it. */
function isInUse(shown) {
  const active = document.activeElement;
  if (shown.contains(active) && active.matches('input, select, textarea')) return true;
  const marked = getSelection();
  return marked !== null && !marked.isCollapsed && shown.contains(marked.anchorNode);
}

const reachable = 'a[href], button, summary, [tabindex]';

/** The keyboard focus: the nearest element with an id, and the index among the focusable elements in it. */
function placeOfFocus(shown) {
  const active = document.activeElement;
  if (!shown.contains(active) || active === shown) return null;
  const near = active.closest('[id]');
  if (near === active) return { id: active.id, index: -1 };
  return { id: near.id, index: [...near.querySelectorAll(reachable)].indexOf(active) };
}

function focusAt({ id, index }) {
  const near = document.getElementById(id);
  (index < 0 ? near : near?.querySelectorAll(reachable)[index])?.focus({ preventScroll: true });
}

function renew(fresh) {
  for (const next of fresh.querySelectorAll('[data-live]')) {
    const shown = document.getElementById(next.id);
    if (!shown || shown === next) continue;
    if (next.dataset.live === 'rows') renewRows(shown, next);
    else if (next.dataset.live === 'form') renewForm(shown, next);
    else if ((received.get(shown) ?? shown.innerHTML) === next.innerHTML || isInUse(shown)) continue;
    else renewWhole(shown, next);
    received.set(shown, next.innerHTML);
  }
  tellPlot();
}

function renewRows(shown, next) {
  const wanted = new Set([...next.children].map((row) => row.id));
  for (const row of [...shown.children]) if (!wanted.has(row.id)) row.remove();
  let place = shown.firstElementChild;
  for (const row of [...next.children]) {
    if (place && place.id === row.id) {
      place = place.nextElementSibling;
      continue;
    }
    // Moving a row would take the focus away from it, so only new rows are inserted.
    if (document.getElementById(row.id)) continue;
    shown.insertBefore(row, place);
    row.classList.add('fresh');
  }
}

function renewWhole(shown, next) {
  const focused = placeOfFocus(shown);
  const open = [...shown.querySelectorAll('details[open][id]')].map((it) => it.id);
  const known = new Set([...shown.querySelectorAll('[data-new]')].map((it) => it.id));
  shown.innerHTML = next.innerHTML;
  for (const id of open) document.getElementById(id)?.setAttribute('open', '');
  for (const it of shown.querySelectorAll('[data-new]')) if (!known.has(it.id)) it.classList.add('fresh');
  if (focused) focusAt(focused);
  if (next.dataset.live !== 'whole') return;
  shown.classList.remove('fresh');
  void shown.offsetWidth;
  shown.classList.add('fresh');
}

function renewForm(shown, next) {
  if (shown.contains(document.activeElement)) return;
  const fields = shown.querySelectorAll('input');
  if ([...fields].some(isEdited)) return;
  for (const field of fields) {
    const other = next.elements.namedItem(field.name);
    if (other) settle(field, other);
  }
}

const isTicked = (field) => field.type === 'checkbox';
const isEdited = (field) =>
  isTicked(field) ? field.checked !== field.defaultChecked : field.value !== field.defaultValue;

function settle(field, { value, checked }) {
  if (isTicked(field)) field.checked = field.defaultChecked = checked;
  else field.value = field.defaultValue = value;
}

function tell(words) {
  const box = document.createElement('div');
  box.className = 'problem';
  box.setAttribute('role', 'alert');
  box.textContent = words;
  message.replaceChildren(box);
}

/** @param words why the page is out of date; null: it is current. */
function setOld(words) {
  if (words !== null && !isOld) tell(words + ' This page is out of date.');
  if (words === null && isOld) message.replaceChildren();
  isOld = words !== null;
  document.body.classList.toggle('old', isOld);
}

const cannotShow = ({ status }) =>
  setOld(server + ' cannot show this page any more (status ' + status + '): reload it to see why.');

async function look() {
  if (posting || document.hidden) return;
  try {
    const answer = await fetch(refresh || location.href, {
      headers: { accept: 'text/html' },
      signal: AbortSignal.timeout(answerWithinMs),
    });
    // The session has ended: the answer is the sign-in form.
    if (answer.redirected) return void location.reload();
    const text = await answer.text();
    // A form was posted in the meantime: its answer is newer than this one.
    if (posting) return;
    if (!answer.ok) return cannotShow(answer);
    setOld(null);
    if (text === lastSeen) return;
    lastSeen = text;
    renew(parse(text));
  } catch {
    setOld(silent ? server + ' does not answer. ' + silent + '.' : server + ' does not answer. Is it still running?');
  }
}

async function keepLooking() {
  await look();
  setTimeout(keepLooking, Number(every));
}

// An id is copied whole by a click, shortened or not.
async function copy({ target }) {
  const it = target.closest('[data-id]');
  if (!it) return;
  try {
    await navigator.clipboard.writeText(it.dataset.id);
    it.classList.add('copied');
    setTimeout(() => it.classList.remove('copied'), 1500);
  } catch {
    // Not over plain http from another host: the id is then shown whole, to be marked by hand.
    it.textContent = it.dataset.id;
  }
}

document.addEventListener('click', copy);
document.addEventListener('keydown', (event) => {
  if (event.key === 'Enter') copy(event);
});

document.addEventListener('submit', async (event) => {
  const form = event.target;
  if (form.method !== 'post' || form.dataset.leave !== undefined) return;
  event.preventDefault();
  if (posting) return;
  posting = true;
  try {
    const answer = await fetch(form.action, {
      method: 'POST',
      headers: { accept: 'text/html' },
      body: new URLSearchParams(new FormData(form, event.submitter)),
      signal: AbortSignal.timeout(answerWithinMs),
    });
    const page = parse(await answer.text());
    const result = page.getElementById('message');
    // The session has ended: the answer is the sign-in form.
    if (!result && answer.redirected) return void location.reload();
    if (!answer.ok && !result?.firstElementChild) {
      // The redirect is followed only after the form was accepted.
      if (answer.redirected) return cannotShow(answer);
      throw new Error('answer ' + answer.status);
    }
    message.replaceChildren(...result.childNodes);
    if (answer.ok) {
      if (form.dataset.clear !== undefined) form.reset();
      else for (const field of form.querySelectorAll('input')) settle(field, field);
      renew(page);
    }
  } catch {
    tell(server + ' did not carry this out. Check that it is running, reload the page and try again.');
  } finally {
    posting = false;
    lastSeen = '';
  }
});

// What a plot shows at a place stands beneath it: under the pointer, or where the arrow keys have led.
let chosen = null;
const countOf = (plot) => plot.dataset.figures.split(';').length;

function tellPlot() {
  for (const plot of document.querySelectorAll('svg[data-figures]')) {
    const box = plot.nextElementSibling;
    const cursor = plot.querySelector('.cursor');
    const isChosen = chosen !== null && chosen.id === plot.id;
    box.hidden = !isChosen;
    cursor.classList.toggle('on', isChosen);
    if (!isChosen) continue;
    const { from, step, names, figures, notes } = plot.dataset;
    const count = countOf(plot);
    const at = Math.max(0, Math.min(count - 1, chosen.at));
    const x = ((at + 0.5) / count) * plot.viewBox.baseVal.width;
    cursor.setAttribute('x1', x);
    cursor.setAttribute('x2', x);
    const begin = local(new Date(Number(from) + at * Number(step))).slice(5, 16);
    const words = names.split('|');
    const parts = figures.split(';')[at].split('|').map((figure, i) => words[i] + ' ' + figure);
    for (const note of notes === '' ? [] : notes.split(';')) {
      const [place, what] = note.split('|');
      if (Number(place) === at) parts.push(what);
    }
    box.textContent = begin + ': ' + parts.join(', ');
  }
}

document.addEventListener('pointermove', ({ target, clientX }) => {
  const plot = target.closest('svg[data-figures]');
  if (!plot) {
    // What the keyboard has chosen stays.
    if (chosen && chosen.byPointer) {
      chosen = null;
      tellPlot();
    }
    return;
  }
  const { left, width } = plot.getBoundingClientRect();
  chosen = { id: plot.id, at: Math.floor(((clientX - left) / width) * countOf(plot)), byPointer: true };
  tellPlot();
});
document.addEventListener('focusin', ({ target }) => {
  const plot = target.closest('svg[data-figures]');
  if (!plot && !(chosen && !chosen.byPointer)) return;
  chosen = plot ? { id: plot.id, at: chosen && chosen.id === plot.id ? chosen.at : countOf(plot) - 1, byPointer: false } : null;
  tellPlot();
});
document.addEventListener('keydown', (event) => {
  const plot = event.target.closest('svg[data-figures]');
  const by = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
  if (!plot || !chosen || by === undefined) return;
  event.preventDefault();
  chosen = { id: plot.id, at: Math.max(0, Math.min(countOf(plot) - 1, chosen.at + by)), byPointer: false };
  tellPlot();
});

// Without scripts these buttons could do nothing.
for (const button of document.querySelectorAll('[data-copy]')) button.hidden = false;
document.addEventListener('click', async (event) => {
  const button = event.target.closest('[data-copy]');
  if (!button) return;
  const shown = document.getElementById(button.dataset.copy);
  try {
    await navigator.clipboard.writeText(shown.textContent);
    button.textContent = 'Copied';
  } catch {
    getSelection().selectAllChildren(shown);
    button.textContent = 'Selected: copy it';
  }
});

localize(document);
// A reload must not repeat the notice.
const address = new URL(location.href);
if (address.searchParams.has('done')) {
  for (const name of ['done', 'run']) address.searchParams.delete(name);
  history.replaceState(null, '', address);
}
setTimeout(keepLooking, Number(every));
`;
