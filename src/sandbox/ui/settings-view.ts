import { html } from 'hono/html';
import { readFaults } from '../control/faults.ts';
import { readSettings } from '../control/settings.ts';
import type { PageDeps } from './deps.ts';
import { faultAt, faultGroups } from './fault-fields.ts';
import type { FaultField } from './fault-fields.ts';
import type { Html } from '../../web/html.ts';
import { addressOf } from './view.ts';
import type { Refused, View } from './view.ts';

interface Shown {
  readonly view: View;
  readonly refused: Refused | undefined;
  readonly baseUrl: string;
}

/** How to connect, and all settings. */
export function settingsView(deps: PageDeps, shown: Shown): Html {
  return html`<section id="settings" aria-labelledby="settings-title">
      <header><h2 id="settings-title">Connection and settings</h2></header>
      <div class="columns">
        ${connection(deps, shown)} ${settingsForm(deps, shown)} ${trafficForm(deps, shown)}
      </div>
    </section>
    <section id="faults" aria-labelledby="faults-title">
      <header><h2 id="faults-title">Faults</h2></header>
      <p class="quiet">Probabilities from 0 (never) to 1 (always).</p>
      ${loseNextForm(shown)} ${faultsForm(deps, shown)}
    </section>`;
}

function connection({ issuer, webhookSecret }: PageDeps, { baseUrl }: Shown): Html {
  return html`<div>
    <h3>For your <code>.env</code></h3>
    <pre id="connection" data-live="whole" tabindex="0">
SERVICE_BASE_URL=${baseUrl}
SERVICE_CLIENT_ID=${issuer.clientId}
SERVICE_CLIENT_SECRET=${issuer.clientSecret}
SERVICE_WEBHOOK_SECRET=${webhookSecret()}</pre>
    <p class="quiet">
      The API is described at <a href="/openapi.json">/openapi.json</a>. Scripts can control the sandbox under
      <code>/sandbox/</code>.
    </p>
  </div>`;
}

function settingsForm(deps: PageDeps, { view, refused }: Shown): Html {
  const settings = readSettings(deps);
  const form = refused?.action === 'settings' ? refused.form : undefined;
  const isOn =
    form === undefined
      ? settings.events?.stock_available_updated === true
      : form.has('stock_available_updated');
  return html`<form
    id="settings-form"
    method="post"
    action="${addressOf('/page/settings', view)}"
    data-live="form"
  >
    <h3>The app’s webhooks</h3>
    <label
      >Webhook URL; empty for none
      <input
        name="webhook_url"
        type="url"
        value="${form?.get('webhook_url') ?? settings.webhook_url ?? ''}"
        spellcheck="false"
    /></label>
    <label class="check"
      ><input type="checkbox" name="stock_available_updated" ${isOn ? html`checked` : ''} /> send
      <code>stock_available_updated</code></label
    >
    <label
      >Time from ready-to-ship to shipment, ms
      <input
        name="booking_delay_ms"
        value="${form?.get('booking_delay_ms') ?? settings.booking_delay_ms ?? 0}"
        inputmode="numeric"
        required
    /></label>
    <button>Save</button>
  </form>`;
}

function trafficForm({ traffic }: PageDeps, { view, refused }: Shown): Html {
  const form = refused?.action === 'traffic' ? refused.form : undefined;
  const isStructural = form === undefined ? traffic.structural : form.has('structural');
  return html`<form
    id="traffic-form"
    method="post"
    action="${addressOf('/page/traffic', view)}"
    data-live="form"
  >
    <h3>Random traffic</h3>
    <label
      >Stock changes per second; 0 stops it
      <input name="rate" value="${form?.get('rate') ?? traffic.rate}" inputmode="decimal" required
    /></label>
    <label class="check"
      ><input type="checkbox" name="structural" ${isStructural ? html`checked` : ''} /> also add and delete
      products</label
    >
    <button>Set</button>
  </form>`;
}

function loseNextForm({ view, refused }: Shown): Html {
  const form = refused?.action === 'lose-next' ? refused.form : undefined;
  return html`<form method="post" action="${addressOf('/page/lose-next', view)}" class="row">
    <label class="inline"
      >Lose the next
      <input name="count" value="${form?.get('count') ?? '1'}" inputmode="numeric" size="4" required />
      webhooks</label
    >
    <button>Lose them</button>
  </form>`;
}

function faultsForm(deps: PageDeps, { view, refused }: Shown): Html {
  const faults = readFaults(deps);
  const form = refused?.action === 'faults' ? refused.form : undefined;
  const input = ({ path, label, kind }: FaultField): Html => {
    const now = faultAt(faults, path);
    if (kind === 'switch') {
      const isOn = form === undefined ? now === true : form.has(path);
      return html`<label class="check"
        ><input type="checkbox" name="${path}" ${isOn ? html`checked` : ''} /> ${label}</label
      >`;
    }
    return html`<label class="field"
      ><span
        >${label}${kind === 'probability' ? '' : html` <span class="quiet">${kind === 'ms' ? 'ms' : 's'}</span>`}</span
      >
      <input name="${path}" value="${form?.get(path) ?? Number(now)}" inputmode="decimal" size="6" required
    /></label>`;
  };
  return html`<form
    id="faults-form"
    method="post"
    action="${addressOf('/page/faults', view)}"
    data-live="form"
  >
    <div class="columns">
      ${faultGroups.map(
        ({ title, fields }) =>
          html`<fieldset>
            <legend>${title}</legend>
            ${fields.map(input)}
          </fieldset>`,
      )}
    </div>
    <button class="main">Apply faults</button>
  </form>`;
}
