/** The share of stock levels that are certain, and its course over the last day. */
import { html } from 'hono/html';
import { QUARTER_MS, type CertainQuarter } from '../../mirror/queries/certainty.ts';
import { REPAIRING_ABOVE, reservationOf, shareText, type Condition } from '../condition/condition.ts';
import { instant, quantity } from './figures.ts';
import type { Html } from '../../web/html.ts';

const QUARTERS = 96;
const WIDTH = 384;
const HEIGHT = 44;
const BAR = WIDTH / QUARTERS;

export function certaintyView(
  condition: Pick<Condition, 'causes' | 'certainty'>,
  course: readonly CertainQuarter[],
  nowMs: number,
): Html {
  const { certainty } = condition;
  const reservation = reservationOf(condition);
  const { share, certain, levels } = certainty;
  const worst = course
    .filter((quarter) => quarter.levels > 0)
    .toSorted((a, b) => a.certain / a.levels - b.certain / b.levels)
    .at(0);
  return html`<div class="certain">
    <p>
      <b class="share">${shareText(certainty)}</b>
      <span class="quiet"
        >${
          share === null
            ? 'how many stock levels are certain'
            : html`of the stock levels are certain: ${quantity(certain)} of ${quantity(levels)}`
        }</span
      >
    </p>
    ${reservation === null ? '' : html`<p class="advice">${reservation}.</p>`}
    ${
      worst === undefined
        ? ''
        : html`${strip(course, nowMs)}
            <p class="quiet">
              Last 24 h, at worst ${textOf(worst)} (${instant(worst.atMs)}). A gap: the mirror did not run, or
              could not say.
            </p>`
    }
  </div>`;
}

function strip(course: readonly CertainQuarter[], nowMs: number): Html {
  const firstQuarter = Math.floor(nowMs / QUARTER_MS) - QUARTERS + 1;
  return html`<svg
    class="strip"
    viewBox="0 0 ${WIDTH} ${HEIGHT}"
    preserveAspectRatio="none"
    role="img"
    aria-label="Share of certain stock levels in the last 24 hours"
  >
    <line class="axis" x1="0" x2="${WIDTH}" y1="${HEIGHT - 0.5}" y2="${HEIGHT - 0.5}" />
    ${course.map((quarter) => {
      const at = quarter.atMs / QUARTER_MS - firstQuarter;
      if (at < 0 || at >= QUARTERS || quarter.levels === 0) return '';
      const share = quarter.certain / quarter.levels;
      const height = Math.max(1, share * HEIGHT);
      return html`<rect
        class="${share < 1 - REPAIRING_ABOVE ? 'odd' : 'good'}"
        x="${at * BAR + 0.4}"
        y="${Math.round((HEIGHT - height) * 10) / 10}"
        width="${BAR - 0.8}"
        height="${Math.round(height * 10) / 10}"
      >
        <title>${textOf(quarter)} from ${new Date(quarter.atMs).toISOString().slice(0, 16)} UTC</title>
      </rect>`;
    })}
  </svg>`;
}

function textOf({ certain, levels }: CertainQuarter): string {
  return shareText({ share: certain / levels, certain, levels });
}
