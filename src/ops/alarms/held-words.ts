/** What the mass-removal guard holds, for people. */
import { counted } from '../../platform/counted.ts';

export interface HeldRemovals {
  /** All of them. */
  readonly held_removals: number;
  readonly held_variants: number;
  readonly held_levels: number;
}

export const NOTHING_HELD: HeldRemovals = { held_removals: 0, held_variants: 0, held_levels: 0 };

/** @returns '3 products, 1 variant and 20 stock levels', as far as there are any. */
export function heldWords({ held_removals, held_variants, held_levels }: HeldRemovals): string {
  const parts = (
    [
      [held_removals - held_variants - held_levels, 'product'],
      [held_variants, 'variant'],
      [held_levels, 'stock level'],
    ] as const
  )
    .filter(([count]) => count > 0)
    .map(([count, what]) => counted(count, what));
  const last = parts.at(-1) ?? '';
  return parts.length < 2 ? last : `${parts.slice(0, -1).join(', ')} and ${last}`;
}
