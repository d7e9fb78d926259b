/** The texts that a person reads, with the lines they stand in. Positions stay: what is no text is blanked out. */
import ts from 'typescript';

export interface Text {
  readonly line: number;
  readonly text: string;
}

const blank = (text: string): string => text.replaceAll(/[^\n]/g, ' ');

/** The string and template literals of a program that are texts: not names, SQL, style sheets or import paths. */
export function textsOfProgram(source: string): Text[] {
  const file = ts.createSourceFile('any.ts', source, ts.ScriptTarget.Latest, true);
  const texts: Text[] = [];
  const visit = (node: ts.Node): void => {
    if (isLiteral(node) && !isName(node)) {
      const start = node.getStart(file);
      const text = humanPart(rawText(node, source, start));
      if (text !== null) texts.push(...linesOf(text, file.getLineAndCharacterOfPosition(start).line + 1));
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return texts;
}

/** The names that a program gives, each time that it writes them; and its comments, line by line. */
export function namesOfProgram(source: string): Text[] {
  const file = ts.createSourceFile('any.ts', source, ts.ScriptTarget.Latest, true);
  const names: Text[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) {
      const { line } = file.getLineAndCharacterOfPosition(node.getStart(file));
      names.push({ line: line + 1, text: node.text });
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  for (const [at, text] of source.split('\n').entries()) {
    if (/^\s*(\/\/|\/?\*)/.test(text)) names.push({ line: at + 1, text });
  }
  return names;
}

/** The text of a Markdown document, without its code. */
export function textsOfDocument(markdown: string): Text[] {
  const text = markdown
    .replaceAll(/^(```|~~~)[^]*?^\1/gm, blank)
    .replaceAll(/`[^`\n]*`/g, blank)
    .replaceAll(/\]\([^)\n]*\)/g, blank);
  return linesOf(text, 1);
}

/** Every line: of settings, unit files and the like. */
export function textsOfPlainFile(text: string): Text[] {
  return linesOf(text, 1);
}

function linesOf(text: string, firstLine: number): Text[] {
  return text
    .split('\n')
    .map((line, at) => ({ line: firstLine + at, text: line }))
    .filter((each) => each.text.trim() !== '');
}

type Literal = ts.StringLiteralLike | ts.TemplateExpression;

function isLiteral(node: ts.Node): node is Literal {
  return ts.isStringLiteralLike(node) || ts.isTemplateExpression(node);
}

function isName({ parent }: Literal): boolean {
  return (
    ts.isImportDeclaration(parent) ||
    ts.isExportDeclaration(parent) ||
    ts.isLiteralTypeNode(parent) ||
    ts.isPropertySignature(parent)
  );
}

/** As it stands in the source, so that lines are right; what is put into a template is visited by itself. */
function rawText(node: Literal, source: string, start: number): string {
  if (!ts.isTemplateExpression(node)) return source.slice(start, node.end);
  let text = '';
  let from = start;
  for (const span of node.templateSpans) {
    text +=
      source.slice(from, span.expression.pos) + blank(source.slice(span.expression.pos, span.expression.end));
    from = span.expression.end;
  }
  return text + source.slice(from, node.end);
}

const SQL =
  /\b(SELECT|INSERT INTO|DELETE FROM|WHERE|EXISTS|ORDER BY)\b| IN \(|^\W*(UPDATE|CREATE|ALTER|DROP|WITH|PRAGMA|FROM|AND|BEGIN)\b/;
/** At least one declaration in braces. */
const STYLE = /\{[^{}]*[a-z-]+: ?[^{};]+;[^{}]*\}/;
const TAG = /<\/?[a-z!][^<>]*>/gi;
const SPOKEN_ATTRIBUTE = /\b(?:aria-label|title|alt|placeholder|data-confirm)="[^"]*"/g;

function humanPart(raw: string): string | null {
  if (SQL.test(raw) || (STYLE.test(raw) && !raw.includes('</') && !raw.includes('=>'))) return null;
  if (/<[a-z!/]/i.test(raw)) {
    return raw.replaceAll(TAG, (tag) => {
      let kept = blank(tag);
      for (const { index, 0: attribute } of tag.matchAll(SPOKEN_ATTRIBUTE)) {
        kept = kept.slice(0, index) + attribute + kept.slice(index + attribute.length);
      }
      return kept;
    });
  }
  // One word is a text when it begins as a heading does, else a name.
  return /[a-z]\S*\s+\S*[a-z]/i.test(raw) || /^\W*[A-Z][a-z]+\W*$/.test(raw) ? raw : null;
}
