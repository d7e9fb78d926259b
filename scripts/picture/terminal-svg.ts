/** Text of a terminal, with its colours, as an SVG picture that reads well on a light and on a dark page. */

interface Run {
  readonly text: string;
  readonly style: Style;
}

interface Style {
  readonly colour: Colour | null;
  readonly bold: boolean;
  readonly dim: boolean;
}

type Colour = keyof typeof PALETTE;

const PLAIN: Style = { colour: null, bold: false, dim: false };
const BACKGROUND = '#14181f';
const FOREGROUND = '#d7dde6';
const PALETTE = {
  red: '#ff7b72',
  green: '#56d364',
  yellow: '#e3b341',
  magenta: '#d2a8ff',
  cyan: '#76e3ea',
} as const;

/** What the "select graphic rendition" codes of a terminal say. */
const CODES: Readonly<Record<string, Partial<Style>>> = {
  0: PLAIN,
  1: { bold: true },
  2: { dim: true },
  22: { bold: false, dim: false },
  31: { colour: 'red' },
  32: { colour: 'green' },
  33: { colour: 'yellow' },
  35: { colour: 'magenta' },
  36: { colour: 'cyan' },
  39: { colour: null },
};

const ESCAPE = '\u001b';
const GRAPHIC_RENDITION = new RegExp(`${ESCAPE}\\[([\\d;]*)m`);

const FONT_PX = 13;
const LINE_PX = 19;
const PADDING_PX = 18;
const TITLE_PX = 34;
const CHARACTER_PX = FONT_PX * 0.602;

/**
 * @param lines as a terminal gets them, with escape sequences.
 * @param title what was typed; shown in the window's bar.
 */
export function terminalSvg(lines: readonly string[], title: string): string {
  const rows = lines.map(parseLine);
  const columns = Math.max(...rows.map((runs) => runs.map(({ text }) => text).join('').length));
  const width = Math.ceil(columns * CHARACTER_PX) + 2 * PADDING_PX;
  const height = TITLE_PX + rows.length * LINE_PX + PADDING_PX;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">`,
    `<title>${escape(title)}</title>`,
    '<style>text{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;' +
      `font-size:${FONT_PX}px;white-space:pre;fill:${FOREGROUND}}</style>`,
    `<rect width="${width}" height="${height}" rx="10" fill="${BACKGROUND}"/>`,
    `<text x="${PADDING_PX}" y="23" opacity=".65">$ ${escape(title)}</text>`,
    ...rows.map((runs, row) => {
      const y = TITLE_PX + (row + 1) * LINE_PX - 5;
      return `<text x="${PADDING_PX}" y="${y}">${runs.map(span).join('')}</text>`;
    }),
    '</svg>',
    '',
  ].join('\n');
}

function parseLine(line: string): readonly Run[] {
  const runs: Run[] = [];
  let style = PLAIN;
  for (const [index, piece] of line.split(GRAPHIC_RENDITION).entries()) {
    // Between the pieces of text stand the codes that split them.
    if (index % 2 === 1) for (const code of piece.split(';')) style = { ...style, ...CODES[code || '0'] };
    else if (piece !== '') runs.push({ text: piece, style });
  }
  return runs;
}

function span({ text, style: { colour, bold, dim } }: Run): string {
  const attributes = [
    ...(colour === null ? [] : [` fill="${PALETTE[colour]}"`]),
    ...(bold ? [' font-weight="bold"'] : []),
    ...(dim ? [' opacity=".65"'] : []),
  ];
  return attributes.length === 0 ? escape(text) : `<tspan${attributes.join('')}>${escape(text)}</tspan>`;
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
