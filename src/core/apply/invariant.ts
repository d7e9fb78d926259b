/** A defect of the merge rules. The input that uncovers it is not applied (mirror/writer/applier.ts). */
class BrokenInvariant extends Error {
  override readonly name = 'BrokenInvariant';
}

/** @throws BrokenInvariant */
export function assertInvariant(holds: boolean, rule: string, detail: () => string): void {
  if (!holds) throw new BrokenInvariant(`${rule}: ${detail()}`);
}
