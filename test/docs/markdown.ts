const FENCED = /^( *)(```+|~~~+).*\n[\s\S]*?^ *\2`* *$/gm;
const CODE_SPAN = /(`+)([\s\S]*?[^`])\1(?!`)/g;

function withoutFences(text: string): string {
  return text.replace(FENCED, '');
}

/** Every `#anchor` that leads into the text. */
export function anchorsOf(text: string): Set<string> {
  const body = withoutFences(text);
  const anchors = new Set<string>();
  for (const [, heading = ''] of body.matchAll(/^#{1,6} +(.+?) *#* *$/gm)) {
    const slug = slugOf(heading);
    let anchor = slug;
    for (let again = 1; anchors.has(anchor); again += 1) anchor = `${slug}-${again}`;
    anchors.add(anchor);
  }
  for (const [, id = ''] of body.matchAll(/<[a-z]+ [^>]*?\b(?:id|name)="([^"]+)"/g)) anchors.add(id);
  return anchors;
}

function slugOf(heading: string): string {
  const shown = heading
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/(?<![\w])_([^_]+)_(?![\w])/g, '$1');
  return shown
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-');
}

export function linksOf(text: string): string[] {
  const prose = withoutFences(text).replace(CODE_SPAN, '');
  // Link texts may contain images, so only the end is matched.
  const inline = [...prose.matchAll(/\]\(\s*<?([^()\s>]+(?:\([^()\s]*\))?)>?(?:\s+"[^"]*")?\s*\)/g)];
  const references = [...prose.matchAll(/^ {0,3}\[[^\]]+\]: *<?(\S+?)>?(?: .*)?$/gm)];
  const html = [...prose.matchAll(/<[a-z]+ [^>]*?\b(?:href|src|srcset)="([^"]+)"/g)];
  return [...inline, ...references, ...html].map(([, target = '']) => target);
}
