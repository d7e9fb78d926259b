const NAME = /\b(?:stock_mirror|process|nodejs)_[a-z0-9_]+/g;

export function namesIn(text: string): ReadonlySet<string> {
  return new Set(text.match(NAME) ?? []);
}

/** The names that queries may use: of a histogram, those of its series. */
export function seriesOf(exposition: string): ReadonlySet<string> {
  const names = new Set<string>();
  for (const [, name = '', type] of exposition.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
    if (type === 'histogram') for (const end of ['bucket', 'sum', 'count']) names.add(`${name}_${end}`);
    else names.add(name);
  }
  return names;
}

export function valueOf(exposition: string, series: string): number | null {
  const line = exposition.split('\n').find((each) => each.startsWith(`${series} `));
  return line === undefined ? null : Number(line.slice(series.length + 1));
}
