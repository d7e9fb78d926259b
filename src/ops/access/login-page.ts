/** The sign-in form: works without scripts and loads only its style sheet. */
import { html, raw } from 'hono/html';

/** @param problem why the last attempt failed; null: there was none. */
export function loginPage(problem: string | null) {
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
