import { BUNDLE_DELAY_MAX_MS, BUNDLE_DELAY_MIN_MS, BUNDLE_DELAY_PER_PRODUCT_MS } from '../limits.ts';
import type { Variant } from '../model.ts';
import type { UnitOfWork } from './unit-of-work.ts';

/**
 * Bundles that contain the variant change with it, without webhooks: they are
 * read a little later, together. This holds for every change of a component, also
 * one that leaves the mirror's quantity as it was or comes before a first bundle.
 */
export function noteComponent(work: UnitOfWork, variant: Pick<Variant, 'bundledByCount'>): void {
  if (variant.bundledByCount > 0) makeBundlesDue(work);
}

export function makeBundlesDue(work: UnitOfWork): void {
  if (work.state.bundlesDueAtMs !== null) return;
  const delayMs = Math.min(
    BUNDLE_DELAY_MAX_MS,
    Math.max(BUNDLE_DELAY_MIN_MS, work.tables.bundleProductCount() * BUNDLE_DELAY_PER_PRODUCT_MS),
  );
  work.state = { ...work.state, bundlesDueAtMs: work.input.atMs + delayMs };
}
