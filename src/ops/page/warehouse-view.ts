/** A warehouse: its id, and beside it what the operator calls it. */
import { html } from 'hono/html';
import type { Html } from '../../web/html.ts';
import type { WarehouseNames } from '../shared/warehouse-names.ts';
import { idText } from './id-view.ts';

export function warehouseView(id: string, names: WarehouseNames): Html {
  const name = names.get(id);
  return name === undefined ? idText(id) : html`${idText(id)} <span class="named">${name}</span>`;
}
