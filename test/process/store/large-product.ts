/** A product of thousands of stock levels in a simulated store, each with another figure at each read. */
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';

const FIRST_VARIANT = 900_000_000_000;
const FIRST_WAREHOUSE = 800_000;

interface LargeProduct {
  readonly productId: string;
  /** How often it was read. */
  readonly reads: number;
}

/** Adds variants to the detail of a product; changes of its own variants stay as they are. */
export function growProduct(
  sandbox: Sandbox,
  { productId, variants, warehouses }: { productId: string; variants: number; warehouses: number },
): LargeProduct {
  let reads = 0;
  sandbox.reads.intercept = (endpoint, asked, respond) => {
    if (endpoint !== '/v1/product/detail' || asked['product_id'] !== productId)
      return Promise.resolve(undefined);
    reads += 1;
    const { status, body } = respond();
    const product = body['product'] as { readonly variants: readonly unknown[] };
    const more = Array.from({ length: variants }, (_, n) => variantOf(n, warehouses, reads));
    return Promise.resolve({
      status,
      body: { ...body, product: { ...product, variants: [...product.variants, ...more] } },
    });
  };
  return {
    productId,
    get reads() {
      return reads;
    },
  };
}

function variantOf(n: number, warehouses: number, read: number): Record<string, unknown> {
  const qty = read + (n % 7);
  return {
    product_variant_id: String(FIRST_VARIANT + n),
    name: `Variant ${n}`,
    sku: `LARGE-${n}`,
    available_qty: warehouses * qty,
    on_hand: warehouses * qty,
    reserved_qty: 0,
    weight: 1,
    warehouses: Array.from({ length: warehouses }, (_, w) => ({
      wh_id: String(FIRST_WAREHOUSE + w),
      on_hand: qty,
      available_qty: qty,
      reserved_qty: 0,
    })),
  };
}
