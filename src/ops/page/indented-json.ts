/**
 * JSON over several lines, every token as it was written: `JSON.stringify` would round long numbers, and drop the first
 * of two fields with one name.
 */

/** Deeper parts are not indented further: each level would make every line of a hostile body longer. */
const DEEPEST = 12;
/** A body of brackets alone grows: beyond this many characters nothing more is written. */
const LONGEST = 512 << 10;

const TOKEN = /"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g;

/** Null: the text is no JSON. */
export function indentedJson(text: string): string | null {
  try {
    JSON.parse(text);
  } catch {
    return null;
  }
  let out = '';
  let depth = 0;
  let previous = '';
  const line = (): string => `\n${'  '.repeat(Math.min(depth, DEEPEST))}`;
  for (const [token] of text.matchAll(TOKEN)) {
    const opens = previous === '{' || previous === '[';
    if (token === '}' || token === ']') {
      depth -= 1;
      out += opens ? token : line() + token;
    } else if (token === ',') out += token;
    else if (token === ':') out += ': ';
    else {
      out += (opens || previous === ',' ? line() : '') + token;
      if (token === '{' || token === '[') depth += 1;
    }
    previous = token;
    if (out.length > LONGEST) return `${out}\n…`;
  }
  return out;
}
