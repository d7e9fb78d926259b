/** The trust that the feed sends is that of SQL, row by row (docs/http-api.md#trust). */
import { MOST_LISTED } from '../../../src/mirror/file/suspicion.ts';
import { status } from '../../../src/mirror/queries/status.ts';
import { trust } from '../../../src/mirror/queries/trust.ts';
import { prepared } from '../../shared/prepared.ts';
import type { Db } from '../../../src/sqlite/open.ts';

interface Row {
  readonly variant_id: string;
  readonly warehouse_id: string | null;
  readonly why_not: string | null;
}

const textOf = ({ variant_id, warehouse_id, why_not }: Row): string =>
  `${variant_id}/${warehouse_id ?? ''} ${why_not}`;

export function checkFeedTrust(db: Db, fault: (what: string) => void): void {
  const look = db.transaction(() => ({
    sent: trust(db),
    sellable: status(db).sellable,
    total: prepared<[], number>(db, 'SELECT count(*) FROM mirror_sellable').pluck().get() ?? 0,
    rows: prepared<[], Row>(
      db,
      'SELECT variant_id, warehouse_id, why_not FROM mirror_sellable WHERE trusted = 0',
    ).all(),
  }));
  const { sent, sellable, total, rows } = look();
  if (sent.untrusted_count !== rows.length)
    fault(`the feed counts ${sent.untrusted_count} rows that are not trusted, and SQL ${rows.length}`);
  if (sellable.total !== total || sellable.trusted !== total - rows.length)
    fault(`the status counts ${JSON.stringify(sellable)}, and SQL ${total - rows.length} of ${total}`);
  if (sent.untrusted === null) {
    if (rows.length <= MOST_LISTED)
      fault(`the feed lists no row, and SQL does not trust ${rows.length} of them`);
    return;
  }
  const listed = new Set(sent.untrusted.map(textOf));
  const shown = new Set(rows.map(textOf));
  for (const row of shown) if (!listed.has(row)) fault(`SQL does not trust ${row}, and the feed does`);
  for (const row of listed) if (!shown.has(row)) fault(`the feed does not trust ${row}, and SQL does`);
}
