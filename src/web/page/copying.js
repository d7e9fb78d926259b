/** A click copies: an id whole, shortened or not, and a sample by its button. */
const SHOWN_MS = 1_500;

/** @param {Event} event */
async function copyId({ target }) {
  /** @type {HTMLElement | null} */
  const it = target instanceof Element ? target.closest('[data-id]') : null;
  if (it === null) return;
  const id = it.dataset['id'] ?? '';
  try {
    await navigator.clipboard.writeText(id);
    it.classList.add('copied');
    setTimeout(() => {
      it.classList.remove('copied');
    }, SHOWN_MS);
  } catch {
    // Not over plain http from another host: the id is then shown whole, to be marked by hand.
    it.textContent = id;
  }
}

/** @param {Event} event */
async function copySample({ target }) {
  /** @type {HTMLElement | null} */
  const button = target instanceof Element ? target.closest('[data-copy]') : null;
  const sample = document.getElementById(button?.dataset['copy'] ?? '');
  if (button === null || sample === null) return;
  try {
    await navigator.clipboard.writeText(sample.textContent);
    button.textContent = 'Copied';
  } catch {
    getSelection()?.selectAllChildren(sample);
    button.textContent = 'Selected: copy it';
  }
}

document.addEventListener('click', (event) => {
  void copyId(event);
  void copySample(event);
});
document.addEventListener('keydown', (event) => {
  if (event.key === 'Enter') void copyId(event);
});

// Without scripts these buttons could do nothing.
/** @type {NodeListOf<HTMLElement>} */
const buttons = document.querySelectorAll('[data-copy]');
for (const button of buttons) button.hidden = false;
