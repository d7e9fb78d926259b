/** What the mass-removal guard holds, for people. */

export interface HeldRemovals {
  /** All of them. */
  readonly held_removals: number;
  readonly held_variants: number;
  readonly held_levels: number;
}

export const NOTHING_HELD: HeldRemovals = { held_removals: 0, held_variants: 0, held_levels: 0 };

/** @returns '3 products, 1 variant and 20 stock levels', as far as there are any. */
export function heldWords({ held_removals, held_variants, held_levels }: HeldRemovals): string {
  const parts = [
    counted(held_removals - held_variants - held_levels, 'product'),
    counted(held_variants, 'variant'),
    counted(held_levels, 'stock level'),
  ].filter((part) => part !== null);
  const last = parts.at(-1) ?? '';
  return parts.length < 2 ? last : `${parts.slice(0, -1).join(', ')} and ${last}`;
}

function counted(count: number, what: string): string | null {
  if (count <= 0) return null;
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
