/** Rows as text, a few thousand at a time. */
import { stringify } from 'csv-stringify/sync';
import type { Row, Rows } from './rows.ts';

export type Format = (rows: Rows) => Generator<string, void, undefined>;

/** Large enough for an efficient write, small beside the memory of the process. */
const ROWS_AT_ONCE = 2_000;

export function* jsonLines({ all }: Rows): Generator<string, void, undefined> {
  for (const rows of inParts(all)) yield rows.map((row) => `${JSON.stringify(row)}\n`).join('');
}

const FORMULA = /^[\s\p{Cc}]*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]/u;
/** Digits with the marks of numbers, dates and times. A whole number of at most 15 digits is shown as it is. */
const NUMBER = /^(?!(?:0|[1-9]\d{0,14})$)(?=.*\d)[\d\s.,:/e+%()-]+$/i;
const MONTH =
  'jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?';
const DATE = new RegExp(`^(?=.*\\d)\\d{0,2}[\\s/.-]*(?:${MONTH})[\\s/.,-]*[\\d\\s,/.-]*$`, 'i');
const TRUTH = /^(?:true|false)$/i;

/** Spreadsheets would compute it, or show another text. */
const isChanged = (text: string): boolean =>
  [FORMULA, NUMBER, DATE, TRUTH].some((pattern) => pattern.test(text));

/**
 * RFC 4180.
 * @param forSpreadsheet adds a byte order mark, and an apostrophe before text that a spreadsheet would change.
 */
export function csvLines({ forSpreadsheet }: { readonly forSpreadsheet: boolean }): Format {
  return function* ({ columns, all }) {
    const options = {
      columns: [...columns],
      record_delimiter: 'windows',
      // A lone one too (RFC 4180).
      quoted_match: /[\r\n]/,
      // Of texts only: negative numbers stay numbers.
      cast: { string: (text: string) => (forSpreadsheet && isChanged(text) ? `'${text}` : text) },
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
