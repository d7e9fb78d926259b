/** What scripts add to a page: times in the reader’s zone, live updates, and forms that post without leaving it. */
import './copying.js';
import { renew, settle } from './renewal.js';
import { localize } from './times.js';

const ANSWER_WITHIN_MS = 10_000;
const { server = '', silent = '', every = '', refresh = '' } = document.body.dataset;
const message = /** @type {HTMLElement} */ (document.getElementById('message'));
let posting = false;
let lastSeen = '';
let isOld = false;

/** @param {string} text */
function parse(text) {
  const page = new DOMParser().parseFromString(text, 'text/html');
  localize(page);
  return page;
}

/** @param {string} words */
function tell(words) {
  const box = document.createElement('div');
  box.className = 'problem';
  box.setAttribute('role', 'alert');
  box.textContent = words;
  message.replaceChildren(box);
}

/** @param {string | null} words why the page is out of date; null: it is current. */
function setOld(words) {
  if (words !== null && !isOld) tell(`${words} This page is out of date.`);
  if (words === null && isOld) message.replaceChildren();
  isOld = words !== null;
  document.body.classList.toggle('old', isOld);
}

/** @param {Response} answer */
function cannotShow({ status }) {
  setOld(`${server} cannot show this page any more (status ${String(status)}): reload it to see why.`);
}

async function look() {
  if (posting || document.hidden) return;
  try {
    const answer = await fetch(refresh === '' ? location.href : refresh, {
      headers: { accept: 'text/html' },
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    });
    // The session has ended: the answer is the sign-in form.
    if (answer.redirected) {
      location.reload();
      return;
    }
    const text = await answer.text();
    // A form was posted in the meantime: its answer is newer than this one.
    if (posting) return;
    if (!answer.ok) {
      cannotShow(answer);
      return;
    }
    setOld(null);
    if (text === lastSeen) return;
    lastSeen = text;
    renew(parse(text));
  } catch {
    setOld(`${server} does not answer. ${silent === '' ? 'Is it still running?' : `${silent}.`}`);
  }
}

function lookLater() {
  setTimeout(() => void look().then(lookLater), Number(every));
}

/**
 * @param {HTMLFormElement} form
 * @param {HTMLElement | null} submitter
 */
async function post(form, submitter) {
  // None of the forms has a file.
  const entries = [...new FormData(form, submitter)].flatMap(([name, value]) =>
    typeof value === 'string' ? [[name, value]] : [],
  );
  const answer = await fetch(form.action, {
    method: 'POST',
    headers: { accept: 'text/html' },
    body: new URLSearchParams(entries),
    signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
  });
  const page = parse(await answer.text());
  const result = page.getElementById('message');
  // The session has ended: the answer is the sign-in form.
  if (result === null && answer.redirected) {
    location.reload();
    return;
  }
  if (result === null || (!answer.ok && result.firstElementChild === null)) {
    // The redirect is followed only after the form was accepted.
    if (!answer.redirected) throw new Error(`answer ${String(answer.status)}`);
    cannotShow(answer);
    return;
  }
  message.replaceChildren(...result.childNodes);
  if (!answer.ok) return;
  if (form.dataset['clear'] !== undefined) form.reset();
  else for (const field of form.querySelectorAll('input')) settle(field, field);
  renew(page);
}

document.addEventListener('submit', (event) => {
  const form = /** @type {HTMLFormElement} */ (event.target);
  if (form.method !== 'post' || form.dataset['leave'] !== undefined) return;
  event.preventDefault();
  if (posting) return;
  posting = true;
  void post(form, event.submitter)
    .catch(() => {
      tell(`${server} did not carry this out. Check that it is running, reload the page and try again.`);
    })
    .finally(() => {
      posting = false;
      lastSeen = '';
    });
});

localize(document);
// A reload must not repeat the notice.
const address = new URL(location.href);
if (address.searchParams.has('done')) {
  for (const name of ['done', 'run']) address.searchParams.delete(name);
  history.replaceState(null, '', address);
}
lookLater();
