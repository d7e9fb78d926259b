/**
 * A page takes over the parts marked `data-live` of the same page as the server shows it now, so that only the server
 * renders: such a part is replaced (`whole`: it also flashes), its `rows` are added and removed by id, and a `form` takes
 * new values unless it is being edited.
 */
/**
 * The content last received for an element: changes that browser extensions make to it do not count.
 *
 * @type {WeakMap<Element, string>}
 */
const received = new WeakMap();
const REACHABLE = 'a[href], button, summary, [tabindex]';

/** @param {Document} page the same page, as it is now. */
export function renew(page) {
  /** @type {NodeListOf<HTMLElement>} */
  const parts = page.querySelectorAll('[data-live]');
  for (const next of parts) {
    const shown = document.getElementById(next.id);
    if (shown === null || shown === next) continue;
    if (next.dataset['live'] === 'rows') renewRows(shown, next);
    else if (next instanceof HTMLFormElement) renewForm(/** @type {HTMLFormElement} */ (shown), next);
    else if ((received.get(shown) ?? shown.innerHTML) === next.innerHTML || isInUse(shown)) continue;
    else renewWhole(shown, next);
    received.set(shown, next.innerHTML);
  }
}

/**
 * The reader is typing in it, or has selected text in it.
 *
 * @param {Element} shown
 */
function isInUse(shown) {
  const active = document.activeElement;
  if (active !== null && shown.contains(active) && active.matches('input, select, textarea')) return true;
  const marked = getSelection();
  return marked !== null && !marked.isCollapsed && shown.contains(marked.anchorNode);
}

/**
 * @param {Element} shown
 * @param {Element} next
 */
function renewRows(shown, next) {
  const wanted = new Set(Array.from(next.children, (row) => row.id));
  for (const row of [...shown.children]) if (!wanted.has(row.id)) row.remove();
  let place = shown.firstElementChild;
  for (const row of [...next.children]) {
    if (place?.id === row.id) {
      place = place.nextElementSibling;
      continue;
    }
    // Moving a row would take the focus away from it, so only new rows are inserted.
    if (document.getElementById(row.id) !== null) continue;
    shown.insertBefore(row, place);
    row.classList.add('fresh');
  }
}

/**
 * @param {HTMLElement} shown
 * @param {HTMLElement} next
 */
function renewWhole(shown, next) {
  const focused = placeOfFocus(shown);
  const open = Array.from(shown.querySelectorAll('details[open][id]'), (it) => it.id);
  const known = new Set(Array.from(shown.querySelectorAll('[data-new]'), (it) => it.id));
  shown.innerHTML = next.innerHTML;
  for (const id of open) document.getElementById(id)?.setAttribute('open', '');
  for (const it of shown.querySelectorAll('[data-new]')) if (!known.has(it.id)) it.classList.add('fresh');
  if (focused !== null) focusAt(focused);
  if (next.dataset['live'] !== 'whole') return;
  shown.classList.remove('fresh');
  // Begins the flash anew.
  shown.getBoundingClientRect();
  shown.classList.add('fresh');
}

/**
 * The keyboard focus: the nearest element with an id, and the index among what can have the focus in it.
 *
 * @param {Element} shown
 * @returns {{ readonly id: string, readonly index: number } | null}
 */
function placeOfFocus(shown) {
  const active = document.activeElement;
  if (active === null || !shown.contains(active) || active === shown) return null;
  const near = active.closest('[id]');
  if (near === null) return null;
  return { id: near.id, index: near === active ? -1 : [...near.querySelectorAll(REACHABLE)].indexOf(active) };
}

/** @param {{ readonly id: string, readonly index: number }} place */
function focusAt({ id, index }) {
  const near = document.getElementById(id);
  const it = index < 0 ? near : near?.querySelectorAll(REACHABLE)[index];
  if (it instanceof HTMLElement || it instanceof SVGElement) it.focus({ preventScroll: true });
}

/**
 * @param {HTMLFormElement} shown
 * @param {HTMLFormElement} next
 */
function renewForm(shown, next) {
  if (shown.contains(document.activeElement)) return;
  const fields = shown.querySelectorAll('input');
  if ([...fields].some(isEdited)) return;
  for (const field of fields) {
    const other = next.elements.namedItem(field.name);
    if (other instanceof HTMLInputElement) settle(field, other);
  }
}

/** @param {HTMLInputElement} field */
const isTicked = (field) => field.type === 'checkbox';

/** @param {HTMLInputElement} field */
const isEdited = (field) =>
  isTicked(field) ? field.checked !== field.defaultChecked : field.value !== field.defaultValue;

/**
 * The field is as the server has it: nothing in it is an edit any more.
 *
 * @param {HTMLInputElement} field
 * @param {HTMLInputElement} as
 */
export function settle(field, { value, checked }) {
  if (isTicked(field)) field.checked = field.defaultChecked = checked;
  else field.value = field.defaultValue = value;
}
