import { html } from 'hono/html';
import { frame } from '../../web/frame.ts';
import type { Html } from '../../web/html.ts';

export function loginPage(problem: string | null): Html {
  return frame({
    title: 'Sign in: stock-mirror',
    ...{ brand: 'stock-mirror', server: 'The mirror', everyMs: null, links: [], at: '', tools: '' },
    message: problem === null ? '' : html`<p class="problem" role="alert">${problem}</p>`,
    main: html`<article>
      <h1>Sign in</h1>
      <form method="post" action="/login">
        <input type="text" name="username" value="operator" autocomplete="username" hidden />
        <label>
          Token
          <input name="token" type="password" autocomplete="current-password" required autofocus />
          <small>The value of <code>OPS_TOKEN</code>.</small>
        </label>
        <button>Sign in</button>
      </form>
    </article>`,
  });
}
