/** A number in an address: of a run, an entry of the event log or a row of the feed. Null: none that could be one. */
export function positionIn(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;
}
