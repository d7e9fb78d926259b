/** Every cause, with an anchor that alerts and cards link to. docs/causes.md has the same text. */
import { html } from 'hono/html';
import { withOwnCommands, type CommandOf } from '../../platform/own-command.ts';
import type { Html } from '../../web/html.ts';
import { guideOf } from '../state/cause-guide.ts';
import { CAUSE_CODES, causeOf } from '../state/causes.ts';
import { facts, marked } from './parts.ts';

export function causesView(commandOf: CommandOf): Html {
  return html`<article>
      <header><h1>Causes</h1></header>
    </article>
    ${CAUSE_CODES.map((code) => {
      const { message, remedy } = causeOf(code, null);
      const { title, lost, over } = guideOf(code);
      const shown = (text: string): Html => html`${marked(withOwnCommands(text, commandOf))}`;
      return html`<article id="${code}">
        <header><h2>${title}</h2></header>
        <p>${shown(message)}</p>
        ${facts([
          ['Lost', shown(lost)],
          ['What to do', shown(remedy)],
          ['Over', shown(over)],
        ])}
        <p class="quiet"><code>${code}</code></p>
      </article>`;
    })}`;
}
