/** What the schedule reads, and what other budgets would leave (docs/freshness.md#the-curve). */
import { html } from 'hono/html';
import type { ReadOutlook } from '../../mirror/queries/read-plan.ts';
import type { Html } from '../../web/html.ts';
import { quantity } from './figures.ts';

/** Levels, of which a part of one matters too. */
function levels(wrong: number): string {
  return wrong < 10 ? String(Math.round(wrong * 100) / 100) : quantity(Math.round(wrong));
}

export function scheduleView(outlook: ReadOutlook | null): Html {
  return html`<section aria-labelledby="schedule-title">
    <header><h2 id="schedule-title">Scheduled reads</h2></header>
    <div id="schedule" data-live>
      ${outlook === null ? html`<p class="quiet">The schedule has not run since the start.</p>` : known(outlook)}
    </div>
  </section>`;
}

function known({ loss_rate, reads_per_hour, expected_wrong, curve }: ReadOutlook): Html {
  return html`<p>
      About <b>${levels(expected_wrong)}</b> stock levels are expected to be wrong at a time, with at most
      ${quantity(reads_per_hour)} scheduled reads an hour and ${(loss_rate * 100).toFixed(3)} % of changes
      lost.
    </p>
    <details id="curve">
      <summary>Other budgets (RECONCILE_READS_PER_HOUR)</summary>
      <table>
        <thead>
          <tr>
            <th scope="col" class="number">Reads an hour</th>
            <th scope="col" class="number">Levels expected wrong</th>
          </tr>
        </thead>
        <tbody>
          ${curve.map(
            (point) =>
              html`<tr>
                <td class="number">${quantity(point.reads_per_hour)}</td>
                <td class="number">${levels(point.expected_wrong)}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </details>`;
}
