/** The commands that the page of an API shows, as a reader copies them. */
export function shownCommands(page: string): string[] {
  const entities: Readonly<Record<string, string>> = { quot: '"', '#39': "'", amp: '&', lt: '<', gt: '>' };
  return [...page.matchAll(/<pre\s+id="try-[^"]*"[^>]*>([^<]*)<\/pre/g)].map(([, text = '']) =>
    text.replaceAll(/&([^;]+);/g, (_whole, name: string) => entities[name] ?? name).trim(),
  );
}
