/** Rows as text, a few thousand at a time. */
import { stringify } from 'csv-stringify/sync';
import type { Row, Rows } from './rows.ts';

export type Format = (rows: Rows) => Generator<string, void, undefined>;

/** Large enough for an efficient write, small beside the memory of the process. */
const ROWS_AT_ONCE = 2_000;

export function* jsonLines({ all }: Rows): Generator<string, void, undefined> {
  for (const rows of inParts(all)) yield rows.map((row) => `${JSON.stringify(row)}\n`).join('');
}

/**
 * RFC 4180.
 * @param forSpreadsheet adds a byte order mark and defuses text that a spreadsheet would take for a formula.
 */
export function csvLines({ forSpreadsheet }: { readonly forSpreadsheet: boolean }): Format {
  return function* ({ columns, all }) {
    const options = {
      columns: [...columns],
      record_delimiter: 'windows',
      // Negative numbers stay numbers.
      escape_formulas: forSpreadsheet,
    };
    yield stringify([], { ...options, header: true, bom: forSpreadsheet });
    for (const rows of inParts(all)) yield stringify(rows, options);
  };
}

function* inParts(all: Iterable<Row>): Generator<Row[], void, undefined> {
  let part: Row[] = [];
  for (const row of all) {
    if (part.push(row) < ROWS_AT_ONCE) continue;
    yield part;
    part = [];
  }
  if (part.length > 0) yield part;
}
