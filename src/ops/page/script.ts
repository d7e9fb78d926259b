/**
 * What the page does besides when scripts run: it writes times in the reader's zone, shows what is new, and posts its
 * forms without leaving. It asks for the same page and takes from it what is marked `data-live`, so that nothing is
 * drawn in two ways.
 */
export const script = `const answerWithinMs = 10000;
const message = document.getElementById('message');
const everyMs = Number(document.body.dataset.every);
// What was last sent for an element: what a browser's extensions did to it since is no difference.
const received = new WeakMap();
let posting = false;
let lastSeen = '';
let silent = false;

const two = (value) => String(value).padStart(2, '0');
const clock = (at) => two(at.getHours()) + ':' + two(at.getMinutes());
const local = (at) =>
  at.getFullYear() + '-' + two(at.getMonth() + 1) + '-' + two(at.getDate()) + ' ' + clock(at) + ':' + two(at.getSeconds());

function localize(root) {
  for (const it of root.querySelectorAll('time[data-zone]')) it.textContent = local(new Date(it.dateTime));
  for (const it of root.querySelectorAll('time[data-ago]')) it.title = local(new Date(it.dateTime));
  for (const it of root.querySelectorAll('text[data-zone]')) it.textContent = local(new Date(it.dataset.zone)).slice(0, 16);
  for (const it of root.querySelectorAll('text[data-clock]')) it.textContent = clock(new Date(it.dataset.clock));
}

const parse = (text) => {
  const page = new DOMParser().parseFromString(text, 'text/html');
  localize(page);
  return page;
};

const isInUse = (shown) => {
  const active = document.activeElement;
  return shown.contains(active) && active.matches('input, select, textarea');
};

function renew(fresh) {
  for (const next of fresh.querySelectorAll('[data-live]')) {
    const shown = document.getElementById(next.id);
    if (!shown || (received.get(shown) ?? shown.innerHTML) === next.innerHTML || isInUse(shown)) continue;
    received.set(shown, next.innerHTML);
    const focused = shown.contains(document.activeElement) ? document.activeElement.id : '';
    const open = new Set([...shown.querySelectorAll('details[open][id]')].map((it) => it.id));
    const known = new Set([...shown.querySelectorAll('[data-new]')].map((it) => it.id));
    shown.innerHTML = next.innerHTML;
    for (const id of open) document.getElementById(id)?.setAttribute('open', '');
    for (const it of shown.querySelectorAll('[data-new]')) if (!known.has(it.id)) it.classList.add('fresh');
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  }
}

function tell(words) {
  const box = document.createElement('div');
  box.className = 'problem';
  box.setAttribute('role', 'alert');
  box.textContent = words;
  message.replaceChildren(box);
}

async function refresh() {
  if (posting || document.hidden) return;
  try {
    const answer = await fetch(location.href, {
      headers: { accept: 'text/html' },
      signal: AbortSignal.timeout(answerWithinMs),
    });
    // The session is over: the form to sign in has come instead.
    if (answer.redirected) return void location.reload();
    const text = await answer.text();
    if (silent) message.replaceChildren();
    silent = false;
    // A form was posted meanwhile: what this answer shows is older than what that one does.
    if (posting || !answer.ok || text === lastSeen) return;
    lastSeen = text;
    renew(parse(text));
  } catch {
    if (!silent) tell('The service does not answer. Is it still running? What is shown here is old.');
    silent = true;
  }
}

async function keepRefreshing() {
  await refresh();
  setTimeout(keepRefreshing, everyMs);
}

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
    const told = page.getElementById('message');
    if (!told) return void location.reload();
    message.replaceChildren(...told.childNodes);
    if (answer.ok) {
      form.reset();
      document.activeElement?.blur();
      renew(page);
    }
  } catch {
    tell('The service did not do that. Is it still running? Reload the page, and try again.');
  } finally {
    posting = false;
    lastSeen = '';
  }
});

localize(document);
// What a notice speaks of has been done: a reload must not say it again.
const address = new URL(location.href);
if (address.searchParams.has('done')) {
  for (const name of ['done', 'run']) address.searchParams.delete(name);
  history.replaceState(null, '', address);
}
setTimeout(keepRefreshing, everyMs);
`;
