/** The sign-in form: works without scripts and loads only its style sheet. */
import { html, raw } from 'hono/html';
import { colours } from '../../web/colours.ts';

interface LoginPage {
  /** Where to go on after signing in. */
  readonly next: string;
  /** Why the last attempt failed; null: there was none. */
  readonly problem: string | null;
}

export function loginPage({ next, problem }: LoginPage) {
  return html`${raw('<!doctype html>')}
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>Sign in: stock-mirror</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="/login.css" />
      </head>
      <body>
        <main>
          <h1>stock-mirror</h1>
          ${problem === null ? '' : html`<p class="problem" role="alert">${problem}</p>`}
          <form method="post" action="/login">
            <input type="hidden" name="next" value="${next}" />
            <input type="text" name="username" value="operator" autocomplete="username" hidden />
            <label for="token">Token</label>
            <input
              id="token"
              name="token"
              type="password"
              autocomplete="current-password"
              aria-describedby="token-help"
              required
              autofocus
            />
            <p id="token-help">The value of <code>OPS_TOKEN</code>.</p>
            <button type="submit">Sign in</button>
          </form>
        </main>
      </body>
    </html>`;
}

export const loginStyle = `${colours}* { box-sizing: border-box; }
body {
  margin: 0;
  min-height: 100vh;
  display: grid;
  place-items: center;
  background: var(--ground);
  color: var(--text);
  font: 1rem/1.45 system-ui, sans-serif;
}
main { width: min(22rem, 100vw - 2rem); padding: 1.5rem; background: var(--card); border-radius: 0.5rem; }
h1 { margin: 0 0 1rem; font-size: 1.15rem; }
label { display: block; margin-bottom: 0.25rem; }
input, button { width: 100%; padding: 0.5rem; font: inherit; border-radius: 0.25rem; }
input { background: var(--ground); color: inherit; border: 1px solid var(--field-line); }
button { border: 0; background: var(--accent); color: var(--on-accent); cursor: pointer; }
p { margin: 0.4rem 0 1rem; color: var(--quiet); font-size: 0.875rem; }
.problem { color: var(--bad); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
`;
