/**
 * What the page does besides when scripts run: it shows what is new every second, and posts its forms without leaving.
 * It asks for the same page and takes from it what is marked `data-live`, so that nothing is drawn in two ways:
 * `whole` is replaced, `rows` come and go by their ids, and a `form` takes new values where nobody is typing.
 */
export const script = `const refreshEveryMs = 1000;
const answerWithinMs = 5000;
const message = document.getElementById('message');
// What was last sent for an element: what a browser's extensions did to it since is no difference.
const received = new WeakMap();
let posting = false;
let lastSeen = '';

function renew(fresh) {
  for (const next of fresh.querySelectorAll('[data-live]')) {
    const shown = document.getElementById(next.id);
    if (!shown || shown === next) continue;
    if (next.dataset.live === 'rows') renewRows(shown, next);
    else if (next.dataset.live === 'form') renewForm(shown, next);
    else if ((received.get(shown) ?? shown.innerHTML) !== next.innerHTML) renewWhole(shown, next);
    received.set(shown, next.innerHTML);
  }
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
    // Moving a row would take the focus from what is in it, so only rows that are new are put in.
    if (document.getElementById(row.id)) continue;
    shown.insertBefore(row, place);
    row.classList.add('fresh');
  }
}

function renewWhole(shown, next) {
  const focused = shown.contains(document.activeElement) ? document.activeElement.id : '';
  shown.innerHTML = next.innerHTML;
  if (focused) document.getElementById(focused)?.focus();
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

const parse = (text) => new DOMParser().parseFromString(text, 'text/html');
let silent = false;

async function refresh() {
  if (posting || document.hidden) return;
  try {
    const answer = await fetch(document.body.dataset.refresh, { signal: AbortSignal.timeout(answerWithinMs) });
    const text = await answer.text();
    if (silent) message.replaceChildren();
    silent = false;
    // A form was posted meanwhile: what this answer shows is older than what that one does.
    if (posting || !answer.ok || text === lastSeen) return;
    lastSeen = text;
    renew(parse(text));
  } catch {
    if (!silent) tell('The sandbox does not answer. Is it still running? What is shown here is old.');
    silent = true;
  }
}

async function keepRefreshing() {
  await refresh();
  setTimeout(keepRefreshing, refreshEveryMs);
}

document.addEventListener('submit', async (event) => {
  const form = event.target;
  if (form.method !== 'post') return;
  event.preventDefault();
  if (posting) return;
  posting = true;
  const body = new URLSearchParams(new FormData(form, event.submitter));
  try {
    const answer = await fetch(form.action, { method: 'POST', body, signal: AbortSignal.timeout(answerWithinMs) });
    const page = parse(await answer.text());
    const told = page.getElementById('message');
    if (!told) throw new Error('refused');
    message.replaceChildren(...told.childNodes);
    if (answer.ok) {
      if (form.dataset.clear !== undefined) form.reset();
      else for (const field of form.querySelectorAll('input')) settle(field, field);
      renew(page);
    }
  } catch {
    tell('The sandbox did not do that. Is it still running? Reload the page, and try again.');
  } finally {
    posting = false;
    lastSeen = '';
  }
});

setTimeout(keepRefreshing, refreshEveryMs);
`;
